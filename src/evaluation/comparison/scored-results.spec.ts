import { Pace } from '#platform/turns';
import { ScoredResults } from './scored-results';

describe('the scores of results that come in batches', () => {
  const RESULTS = 10_000;
  const AT_ONCE = 16;
  const scoreOf = (i: number): number | null | undefined => [i / RESULTS, null, undefined, 0][i % 4];

  it('are moved a few times, and not once more for each batch', async () => {
    const scored = new ScoredResults(['s', 'other']);
    const buffers = new Set<ArrayBufferLike>();
    for (let from = 0; from < RESULTS; from += AT_ONCE) {
      const results = Array.from({ length: AT_ONCE }, (_, n) => from + n);
      const batch = {
        resultIds: results.map((i) => `res_${i}`),
        caseKeys: results.map((i) => `case ${i}`),
        bytes: results.map(() => 1),
        scores: results.map((i): Record<string, number | null> => {
          const score = scoreOf(i);
          return score === undefined ? {} : { s: score };
        }),
      };
      await scored.add(batch, new Pace());
      buffers.add(scored.of('s').buffer);
    }
    expect(buffers.size).toBeLessThan(15);
    const expected = Float64Array.from({ length: RESULTS }, (_, i) => scoreOf(i) ?? NaN);
    expect(scored.of('s')).toEqual(expected);
    expect(scored.of('other')).toEqual(new Float64Array(RESULTS).fill(NaN));
    expect(scored.of('s').buffer.byteLength).toBe(RESULTS * Float64Array.BYTES_PER_ELEMENT);
    expect(scored.of('unknown')).toHaveLength(0);
  });
});
