import { sharedApp } from '#testing';
import {
  byScorer,
  compare,
  compared,
  completed,
  experimentOf,
  EXPERIMENTS,
  scored,
} from './comparison.fixture';
import { uploadVersion } from './dataset-versions.fixture';
import { EvaluationWorkspace, type Experiment } from './evaluation.harness';

const times = <Value>(count: number, value: Value): Value[] => new Array<Value>(count).fill(value);

describe('the comparison of an experiment with its baseline', () => {
  const app = sharedApp();
  let space: EvaluationWorkspace;

  beforeEach(async () => {
    space = await EvaluationWorkspace.open(app);
  });

  describe('on shared cases', () => {
    // by hand: exact differs by -1, +1 and 0, tone by +0.25 and 0 of the cases that both have scores of
    const candidateResults = [
      { case_id: 'q1', input: 'one', output: 'c1', scores: { exact: false, tone: 0.75 }, duration_ms: 12 },
      { case_id: 'q2', output: 'c2', scores: { exact: true, tone: 0.5 } },
      { case_id: 'q3', output: 'c3', scores: { exact: true, tone: 0.25, own: 1 } },
      { case_id: 'q5', output: null, error: 'timed out', scores: { exact: true, tone: null } },
    ];
    const baselineResults = [
      { case_id: 'q1', input: 'one', expected: 'I', output: 'b1', scores: { exact: true, tone: 0.5 } },
      { case_id: 'q2', output: 'b2', expected: 'II', scores: { exact: false, tone: 0.5 } },
      { case_id: 'q3', output: 'b3', scores: { exact: true, tone: null } },
      { case_id: 'q4', output: 'b4', scores: { exact: true, old: 0.5 } },
    ];
    let candidate: string;
    let baseline: string;

    beforeEach(async () => {
      baseline = await completed(space, baselineResults, { name: 'sums', experiment_name: 'first' });
      candidate = await experimentOf(space, candidateResults, {
        name: 'sums',
        experiment_name: 'second',
        baseline_experiment_id: baseline,
      });
    });

    it('computes both means, the difference of shared cases, and how many became better or worse', async () => {
      const { status, body } = await compare(space, candidate); // its own baseline
      expect(status).toBe(200);
      expect(body).toMatchObject({
        candidate: {
          experiment_id: candidate,
          name: 'sums',
          experiment_name: 'second',
          experiment_status: 'running',
          result_count: 4,
          is_truncated: false,
        },
        baseline: { experiment_id: baseline, experiment_name: 'first', result_count: 4 },
        is_truncated: false,
        totals: { cases: 5, cases_shared: 3, cases_only_in_candidate: 1, cases_only_in_baseline: 1 },
        scorer_count: 4,
      });
      expect(body.scorers!.map((one) => one.scorer)).toEqual(['exact', 'old', 'own', 'tone']);
      expect(byScorer(body, 'exact')).toEqual({
        scorer: 'exact',
        unit: 'cases',
        candidate: {
          mean: 0.75,
          count: 4,
          scorer_version: null,
          current_scorer_version: null,
          scored_count: 4,
          null_count: 0,
          late_count: 0,
        },
        baseline: {
          mean: 0.75,
          count: 4,
          scorer_version: null,
          current_scorer_version: null,
          scored_count: 4,
          null_count: 0,
          late_count: 0,
        },
        difference: 0,
        confidence_interval: { lower: expect.any(Number), upper: expect.any(Number) },
        p_value: 1,
        cases: 3,
        improved: 1,
        regressed: 1,
        unchanged: 1,
        missing: 2,
        judge_changed_count: 0,
        changed_case_count: 0,
        verdict: 'inconclusive',
        reason: null,
      });
      expect(byScorer(body, 'tone')).toMatchObject({
        candidate: { mean: 0.5, count: 3 },
        baseline: { mean: 0.5, count: 2 },
        difference: 0.125,
        cases: 2,
        p_value: 1,
        improved: 1,
        regressed: 0,
        unchanged: 1,
        missing: 3,
      });
    });

    it('computes no difference for a scorer that only one side has', async () => {
      const { body } = await compare(space, candidate);
      const nothing = { difference: null, confidence_interval: null, p_value: null, cases: 0, missing: 5 };
      expect(byScorer(body, 'own')).toMatchObject({
        ...nothing,
        candidate: { mean: 1, count: 1 },
        baseline: { mean: null, count: 0 },
        verdict: 'inconclusive',
      });
      expect(byScorer(body, 'old')).toMatchObject({
        ...nothing,
        candidate: { mean: null, count: 0 },
        baseline: { mean: 0.5, count: 1 },
      });
    });

    it('lists the cases, the worst regression first, with both outputs and scores', async () => {
      const { body } = await compare(space, candidate);
      // the means of both scorers' differences: q1 (-1 + 0.25) / 2, q3 0, q2 (1 + 0) / 2
      const { items, page } = body.cases;
      expect(items.map((one) => [one.case_id, one.difference, one.outcome])).toEqual([
        ['q1', -0.375, 'regressed'],
        ['q3', 0, 'unchanged'],
        ['q2', 0.5, 'improved'],
        ['q4', null, 'missing'],
        ['q5', null, 'missing'],
      ]);
      expect(page).toEqual({ limit: 50, offset: 0, total: 5, next_cursor: null });
      expect(items[0]).toEqual({
        case_id: 'q1',
        dataset_record_id: null,
        trial_group: null,
        input: 'one',
        expected: 'I',
        difference: -0.375,
        outcome: 'regressed',
        differences: { exact: -1, old: null, own: null, tone: 0.25 },
        candidate_count: 1,
        baseline_count: 1,
        candidate: [
          {
            result_id: expect.stringMatching(/^res_/),
            case_id: 'q1',
            output: 'c1',
            error: null,
            erased: false,
            scores: { exact: 0, tone: 0.75 },
            score_details: {},
            trace_id: null,
            session_id: null,
            duration_ms: 12,
            input_tokens: null,
            output_tokens: null,
            cost_usd: null,
            trial_index: null,
          },
        ],
        baseline: [expect.objectContaining({ case_id: 'q1', output: 'b1', scores: { exact: 1, tone: 0.5 } })],
      });
      expect(items[3]).toMatchObject({ candidate: [], candidate_count: 0, baseline_count: 1 });
      expect(items[4]).toMatchObject({ candidate: [{ error: 'timed out' }], baseline: [] });
    });

    it('lists the cases by one scorer, filtered by outcome', async () => {
      const keys = async (query: Record<string, string>) =>
        (await compared(space, candidate, baseline, query)).cases.items.map((one) => one.case_id);
      expect(await keys({ scorer: 'exact' })).toEqual(['q1', 'q3', 'q2', 'q4', 'q5']);
      expect(await keys({ scorer: 'exact', sort: '-difference' })).toEqual(['q2', 'q3', 'q1', 'q4', 'q5']);
      expect(await keys({ scorer: 'tone' })).toEqual(['q2', 'q1', 'q3', 'q4', 'q5']);
      expect(await keys({ scorer: 'tone', only: 'improved' })).toEqual(['q1']);
      expect(await keys({ scorer: 'tone', only: 'regressed' })).toEqual([]);
      expect(await keys({ only: 'missing' })).toEqual(['q4', 'q5']);
      expect(await keys({ only: 'unchanged' })).toEqual(['q3']);
    });

    it('is repeatable, and has the means of the summaries of finalized experiments', async () => {
      const running = (await compare(space, candidate)).body;
      expect((await compare(space, candidate)).body).toEqual(running);
      const { body: base } = await space.viewer.get<Experiment>(`${EXPERIMENTS}/${baseline}`);
      const summaries = [await space.finalize(candidate), base];
      const finalized = (await compare(space, candidate)).body;
      expect(finalized.candidate.experiment_status).toBe('completed');
      expect([finalized.scorers, finalized.cases]).toEqual([running.scorers, running.cases]);
      for (const [side, { summary }] of [['candidate', summaries[0]!] as const, ['baseline', summaries[1]!] as const]) {
        for (const [scorer, summed] of Object.entries(summary!.scores!)) {
          expect([scorer, byScorer(finalized, scorer)[side]]).toMatchObject([scorer, summed]);
        }
      }
      // the process caches comparisons of finalized experiments, and archiving changes no result
      await space.archive(`${EXPERIMENTS}/${candidate}`);
      expect((await compare(space, candidate)).body).toEqual(finalized);
    }); // oxfmt-ignore
  });

  it('reports improved or regressed only when both tests agree', async () => {
    const low = [0.2, 0.3, 0.25, 0.4, 0.1, 0.3, 0.35, 0.2, 0.15, 0.3];
    const from = async (scores: number[]) => experimentOf(space, scored('s', scores));
    const raised = await from(low.map((score, i) => score + 0.25 + (i % 3) / 8));
    const baseline = await from(low);
    const better = byScorer(await compared(space, raised, baseline), 's');
    expect(better.p_value).toBe(2 / 1024); // of the 2^10 sign assignments, only all-positive and all-negative are as extreme
    expect([better.verdict, better.improved]).toEqual(['improved', 10]);
    expect(better.confidence_interval!.lower).toBeGreaterThan(0);
    const worse = byScorer(await compared(space, baseline, raised), 's');
    expect([worse.verdict, worse.regressed, worse.p_value]).toEqual(['regressed', 10, better.p_value]);

    // seven cases gain 0.5 and one loses 0.5: 2 × (1 + 8) of the 2^8 sign assignments are as extreme
    const unsure = byScorer(
      await compared(space, await from([...times(7, 0.5), 0]), await from([...times(7, 0), 0.5])),
      's',
    );
    expect([unsure.difference, unsure.p_value, unsure.verdict]).toEqual([0.375, 18 / 256, 'inconclusive']);
    // five cases are too few for a verdict, however clear their difference is
    const few = byScorer(await compared(space, await from(times(5, 1)), await from(times(5, 0))), 's');
    expect([few.difference, few.p_value, few.verdict]).toEqual([1, 2 / 32, 'inconclusive']);
    expect(few.confidence_interval).toEqual({ lower: 1, upper: 1 });
    const one = byScorer(await compared(space, await from([1]), await from([0])), 's');
    expect([one.difference, one.p_value, one.confidence_interval]).toEqual([1, 1, null]);
  });

  it('is mirrored if the sides are swapped', async () => {
    const scores = (seed: number) =>
      Array.from({ length: 40 }, (_, i) => ({ case_id: `${i}`, scores: { s: ((i * seed) % 23) / 23 } }));
    const a = await experimentOf(space, scores(7));
    const b = await experimentOf(space, scores(11));
    const there = byScorer(await compared(space, a, b), 's');
    const back = byScorer(await compared(space, b, a), 's');
    expect(back.difference).toBeCloseTo(-there.difference!, 12);
    expect(back.p_value).toBe(there.p_value);
    expect(back.confidence_interval!.lower).toBeCloseTo(-there.confidence_interval!.upper, 9);
    expect(back.confidence_interval!.upper).toBeCloseTo(-there.confidence_interval!.lower, 9);
    expect([back.improved, back.regressed, back.unchanged]).toEqual([
      there.regressed,
      there.improved,
      there.unchanged,
    ]);
    expect((await compared(space, b, a)).cases.items.map((one) => one.case_id)).toHaveLength(40);
  });

  it('names the dataset and CSV version of both sides', async () => {
    const { dataset_id } = await space.dataset();
    await uploadVersion(space, dataset_id, 'id,q,a\nc1,1+1,2\n');
    await uploadVersion(space, dataset_id, 'id,q,a\nc1,9*9,81\n');
    const results = [{ case_id: 'c1', scores: { s: 1 } }];
    const of = (dataset_version: number) => experimentOf(space, results, { dataset_id, dataset_version });
    const pinned = [await of(1), await of(2)] as const;
    expect(await compared(space, ...pinned)).toMatchObject({
      totals: { cases_shared: 0, changed_case_count: 1 },
      candidate: { dataset_id, dataset_version: 1 },
      baseline: { dataset_id, dataset_version: 2 },
    });
    expect(await compared(space, pinned[0], await experimentOf(space, results))).toMatchObject({
      candidate: { dataset_id, dataset_version: 1 },
      baseline: { dataset_id: null, dataset_version: null },
    });
  });

  it('reports no difference for equal experiments', async () => {
    const results = scored('s', [0.1, 0.7, 0.3]);
    const same = byScorer(
      await compared(space, await experimentOf(space, results), await experimentOf(space, results)),
      's',
    );
    expect([same.difference, same.p_value, same.unchanged, same.verdict]).toEqual([0, 1, 3, 'inconclusive']);
    expect(same.confidence_interval).toEqual({ lower: 0, upper: 0 });
  });

  it('keeps scorers of any name apart', async () => {
    const names = ['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'a.b', '', ' ', '"', '\n', '😀'];
    const fitting = names.filter((name) => name !== '');
    const from = (score: number) =>
      experimentOf(space, [
        { case_id: 'a', scores: JSON.parse(`{${fitting.map((one) => `${JSON.stringify(one)}: ${score}`).join()}}`) },
        { case_id: 'b', scores: {} },
      ]);
    const body = await compared(space, await from(1), await from(0.5));
    expect(body.scorers!.map((one) => one.scorer)).toEqual([...fitting].sort());
    for (const scorer of body.scorers!) {
      expect(scorer).toMatchObject({ difference: 0.5, cases: 1, improved: 1, missing: 1 });
    }
    expect(Object.entries(body.cases.items[0]!.differences).sort()).toEqual(fitting.sort().map((one) => [one, 0.5]));
    expect(({} as { difference?: unknown }).difference).toBeUndefined();
  }); // oxfmt-ignore

  it('handles extreme numbers', async () => {
    const huge = await experimentOf(space, scored('s', [1.7e308, -1.7e308, 1e-320, 1.7e308, 1.7e308]));
    const other = await completed(space, scored('s', [-1.7e308, 1.7e308, -1e-320, 0, 0]));
    const { status, body } = await compare(space, huge, { baseline_experiment_id: other });
    expect(status).toBe(200);
    expect(byScorer(body, 's')).toMatchObject({ difference: null, verdict: 'inconclusive', missing: 0 });
  });
});
