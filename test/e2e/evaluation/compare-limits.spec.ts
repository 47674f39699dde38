import { sharedApp } from '#testing';
import type { GateResultDto } from '../../../src/evaluation/experiments/gate/gate.dto';
import { byScorer, compared, experimentOf, EXPERIMENTS } from './comparison.fixture';
import { EvaluationWorkspace } from './evaluation.harness';

describe('a comparison of experiments with many scorers', () => {
  const app = sharedApp();
  let space: EvaluationWorkspace;

  beforeEach(async () => {
    space = await EvaluationWorkspace.open(app);
  });

  it('includes at most 100 scorers, shared ones first', async () => {
    const scores = (prefix: string, count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, i) => [`${prefix} ${i}`, 1]));
    const candidate = await experimentOf(space, [
      { case_id: 'a', scores: scores('own', 100) },
      { case_id: 'b', scores: scores('shared', 3) },
    ]);
    const baseline = await experimentOf(space, [{ case_id: 'b', scores: scores('shared', 3) }]);
    const body = await compared(space, candidate, baseline);
    expect([body.scorers!.length, body.scorer_count]).toEqual([100, 103]);
    expect(body.scorers!.filter((one) => one.scorer.startsWith('shared'))).toHaveLength(3);
  });

  it('prefers shared scorers over more frequent ones', async () => {
    const own = (side: string, from: number) =>
      Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`${side} ${from + i}`, 1]));
    // Each side alone has 300 scorers with two cases each. One scorer with a single case is shared.
    const results = (side: string, shared: number) => [
      ...[0, 100, 200, 0, 100, 200].map((from, i) => ({ case_id: `${i}`, scores: own(side, from) })),
      { case_id: 'both', scores: { shared } },
    ];
    const candidate = await experimentOf(space, results('candidate', 0.75));
    const baseline = await experimentOf(space, results('baseline', 0.25));
    const body = await compared(space, candidate, baseline, { scorer: 'shared', limit: '1' });
    expect(body.scorer_count).toBe(601);
    expect(byScorer(body, 'shared')).toMatchObject({ difference: 0.5, cases: 1, improved: 1 });
    expect(body.cases.items[0]).toMatchObject({ case_id: 'both', difference: 0.5 });
    // The other scorers are compared by their own scores.
    const others = body.scorers!.filter((one) => one.scorer !== 'shared');
    expect(others.map((one) => one.candidate.count + one.baseline.count)).toEqual(Array(99).fill(2));
  });

  describe('with more scorers than a summary has', () => {
    const SCORERS = 1_100;
    /**
     * Returns results with 1,100 scorers named `<prefix> 0000` and so on, 100 to a result. One more result has only a
     * score by `zz`, which is last by name and by count.
     */
    const manyScorers = (prefix: string, zz: number) => [
      ...Array.from({ length: 2 * (SCORERS / 100) }, (_, n) => ({
        case_id: `${n}`,
        scores: Object.fromEntries(
          Array.from({ length: 100 }, (__, i) => [
            `${prefix} ${String((n * 100 + i) % SCORERS).padStart(4, '0')}`,
            1,
          ]),
        ),
      })),
      { case_id: 'last', scores: { zz } },
    ];

    it('is the same for finalized experiments as for running ones', async () => {
      const candidate = await experimentOf(space, manyScorers('a', 0.75));
      const baseline = await experimentOf(space, manyScorers('b', 0.25));
      const gate = async () => {
        const rules = [{ scorer: 'zz', min_mean: 0.75, min_count: 1, min_coverage: 0 }, { scorer: 'b 0000', min_count: 1, min_coverage: 0 }];
        const answer = await space.viewer.post<GateResultDto>(`${EXPERIMENTS}/${candidate}/gate`, { rules });
        expect(answer.status).toBe(200);
        return answer.body.checks;
      };
      const running = [await compared(space, candidate, baseline), await gate()] as const;
      expect(running[1].map((check) => [check.status, check.actual])).toEqual([['passed', 0.75], ['passed', 1], ['failed', 0]]);
      expect((await space.finalize(candidate)).summary!.is_scorers_truncated).toBe(true);
      expect(await gate()).toEqual(running[1]);
      const finalized = await compared(space, candidate, baseline);
      expect([finalized.scorers, finalized.scorer_count]).toEqual([running[0].scorers, running[0].scorer_count]);
    }); // oxfmt-ignore

    it('reports both means of a scorer with few scores on one side', async () => {
      const candidate = await experimentOf(space, manyScorers('a', 0.75));
      // In the baseline `zz` is the only scorer, and has the most scores of all.
      const results = ['last', 'x', 'y'].map((case_id) => ({ case_id, scores: { zz: 0.25 } }));
      const baseline = await experimentOf(space, results);
      for (const [one, other] of [[candidate, baseline], [baseline, candidate]] as const) {
        const body = await compared(space, one, other, { limit: '0' });
        const sides = [{ mean: 0.75, count: 1 }, { mean: 0.25, count: 3 }];
        const [own, theirs] = one === candidate ? sides : sides.reverse();
        expect(byScorer(body, 'zz')).toMatchObject({ candidate: own, baseline: theirs, cases: 1 });
        expect(body.scorer_count).toBe(1_101);
      }
    }); // oxfmt-ignore
  });
});
