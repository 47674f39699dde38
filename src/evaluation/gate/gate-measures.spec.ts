import { scoredOf } from '../comparison/comparison.fixture';
import { PairedCases } from '../comparison/paired-cases';
import { Pace } from '#platform/turns';
import { GateMeasures } from './gate-measures';

describe('what the rules of a gate ask for', () => {
  const SCORERS = ['s', 't'];
  const side = async (experimentId: string, step: number) => {
    const scores = Array.from({ length: 40 }, (_, i) => ({
      s: ((i * step) % 11) / 11,
      t: ((i * step) % 7) / 7,
    }));
    return { experimentId, means: [], scored: await scoredOf(experimentId, scores, SCORERS) };
  };

  it('is worked out once for each scorer, however many rules there are', async () => {
    const [candidate, baseline] = [await side('exp_a', 3), await side('exp_b', 5)];
    const cases = await PairedCases.of(candidate.scored, baseline.scored, SCORERS, new Pace());
    const measures = new GateMeasures(cases, candidate, baseline, new Pace());
    const rule = { scorer: 's', min_mean: 0, max_regression: 1, confident: true };
    const first = await measures.of(rule);
    const second = await measures.of({ ...rule, min_mean: 0.5, max_regression: 0 });
    expect(first).toMatchObject({ sharedCases: 40, difference: expect.any(Number) as number });
    expect(first.meanInterval).not.toBeNull();
    // the very same objects
    expect(second.meanInterval).toBe(first.meanInterval);
    expect(second.differenceInterval).toBe(first.differenceInterval);
    const other = await measures.of({ ...rule, scorer: 't' });
    expect(other.meanInterval).not.toEqual(first.meanInterval);
    expect(other.differenceInterval).not.toEqual(first.differenceInterval);
  });
});
