import { isSampled, sampleFraction } from './scoring-rule.runner';

describe('isSampled', () => {
  it.each([
    // int(sha256(id).hexdigest()[:13], 16) / 16 ** 13, by Python
    ['4bf92f3577b34da6a3ce929d0e0e4736', 0.22477405853512122],
    ['00000000000000000000000000000001', 0.8781224839231421],
    ['ses_0', 0.681528389096459],
    ['Sitzung 世界', 0.4295727068983006],
    ['', 0.8894159948913372],
  ])('maps %j to a fixed fraction', (id, fraction) => {
    expect(sampleFraction(id)).toBe(fraction);
    expect(isSampled(id, fraction)).toBe(false);
    expect(isSampled(id, fraction + 1e-12)).toBe(true);
  });

  it('samples about the requested share, whatever the ids look like', () => {
    const many = 20_000;
    for (const form of [(n: number) => n.toString(16).padStart(32, '0'), (n: number) => `session ${n}`]) {
      for (const rate of [0.01, 0.25, 0.5, 0.9]) {
        const count = Array.from({ length: many }, (_, n) => form(n)).filter((id) =>
          isSampled(id, rate),
        ).length;
        // five standard deviations; the ids are fixed, so the test is deterministic
        const tolerance = 5 * Math.sqrt((rate * (1 - rate)) / many);
        expect(Math.abs(count / many - rate)).toBeLessThan(tolerance);
      }
    }
  });

  it('samples everything at 1, nothing at 0, and a superset at a higher rate', () => {
    const ids = Array.from({ length: 1_000 }, (_, n) => `ses_${n}`);
    const at = (rate: number) => ids.filter((id) => isSampled(id, rate));
    expect(at(1)).toEqual(ids);
    expect(at(0)).toEqual([]);
    expect(at(0.6)).toEqual(expect.arrayContaining(at(0.3)));
  });
});
