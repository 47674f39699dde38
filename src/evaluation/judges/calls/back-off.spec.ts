import fc from 'fast-check';
import { backOffMs } from './back-off';

describe('the wait before a further attempt', () => {
  it.each([
    [1, 500],
    [2, 1_000],
    [6, 16_000],
    [7, 30_000],
    [5_000, 30_000],
  ])('is anything below a bound, which is of attempt %i: %i ms', (attempt, bound) => {
    expect(backOffMs(attempt, 0, () => 0)).toBe(0);
    expect(backOffMs(attempt, undefined, () => 0.5)).toBe(bound / 2);
    expect(backOffMs(attempt, 0, () => 1)).toBe(bound);
  });

  it('is never shorter than the judge asks for, and not the same for all who ask it', () => {
    const attempts = fc.integer({ min: 1, max: 10_000 });
    const asked = fc.double({ min: 0.001, max: 1e12, noNaN: true });
    fc.assert(
      fc.property(attempts, asked, fc.double({ min: 0.01, max: 1, noNaN: true }), (attempt, ms, chance) => {
        const [least, more] = [backOffMs(attempt, ms, () => 0), backOffMs(attempt, ms, () => chance)];
        expect(least).toBe(ms);
        expect(more).toBeGreaterThan(ms);
        expect(more).toBeLessThanOrEqual(ms * 1.25 + 500);
        expect(more - ms).toBeLessThanOrEqual(30_001);
      }),
    );
  });

  it('is without end where the judge says so, and no number that a timer would take for none', () => {
    expect(backOffMs(1, Infinity, () => 0)).toBe(Infinity);
  });
});
