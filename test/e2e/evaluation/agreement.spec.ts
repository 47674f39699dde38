import { sharedJudge } from '#testing';
import { AgreementFixture, newTraceId, resultsOfBoth, scoreBy } from './agreement.fixture';
import { experimentOf } from './comparison.fixture';
import type { EvaluationWorkspace, Result } from './evaluation.harness';
import { BOOLEAN, type HumanScoresFixture, type Scorer, SCORES, STARS, TONE } from './human-scores.fixture';

type Fields = Record<string, unknown>;

const times = <Value>(count: number, value: Value): Value[] => new Array<Value>(count).fill(value);

describe('the agreement of two scorers', () => {
  const service = sharedJudge();
  let fixture: AgreementFixture;
  let on: HumanScoresFixture;
  let space: EvaluationWorkspace;

  beforeEach(async () => {
    fixture = await AgreementFixture.open(service.app);
    ({ on, space } = fixture);
  });

  const code: AgreementFixture['code'] = (source) => fixture.code(source);
  const agreement: AgreementFixture['agreement'] = (...args) => fixture.agreement(...args);
  const resultsOf = (experimentId: string): Promise<Result[]> => fixture.resultsOf(experimentId);

  it('compares a scoring run with human scores trace by trace', async () => {
    // Both the judge and people say yes for 20, only the judge for 5, only people for 10, and nobody for 15.
    const outputs = [...times(25, 'yes'), ...times(25, 'no')];
    const people = [...times(20, true), ...times(5, false), ...times(10, true), ...times(15, false)];
    const id = await experimentOf(
      space,
      outputs.map((output, i) => ({ case_id: `${i}`, output, trace_id: newTraceId() })),
    );
    const results = await resultsOf(id);
    await space.finalize(id);
    const judge = await code();
    const person = await on.scorer(BOOLEAN);
    for (const [i, { result_id, trace_id }] of results.entries()) {
      await on.score(person, { result_id, score: people[i] });
      // The judge has not scored the output of the trace.
      if (i % 2 === 0) await on.score(person, { trace_id, score: !people[i] });
    }
    await run(judge, id);
    const body = await agreement(judge, person);
    expect(body).toMatchObject({
      scorer: { scorer_id: judge.scorer_id, scorer_kind: 'code' },
      reference: { scorer_id: person.scorer_id, name: person.name, scorer_kind: 'human' },
      experiment_id: null,
      units: 50,
      is_truncated: false,
      // Rows are the scores of the scorer: no, then yes.
      confusion: { basis: 'score', categories: [0, 1], counts: [[15, 10], [5, 20]], units: 50 },
      mean_absolute_error: { units: 50, value: 0.3 },
    }); // oxfmt-ignore
    // A score that a client records under the judge's name is not a score by the judge.
    for (const { result_id } of results.slice(0, 5)) {
      const score = { workspace_id: space.id, scorer_name: judge.name, result_id, score: 0 };
      expect((await space.evaluator.post('/eval/v1/scores', score)).status).toBe(201);
    }
    expect(await agreement(judge, person)).toEqual(body);
    // Kappa is (0.7 - 0.5) / (1 - 0.5), and alpha is 1 - 99 * 30 / (100^2 - 55^2 - 45^2).
    expect(body.observed_agreement!.value).toBeCloseTo(0.7, 12);
    expect(body.cohens_kappa!.value).toBeCloseTo(0.4, 12);
    expect(body.weighted_kappa!.value).toBeCloseTo(0.4, 12);
    expect(body.krippendorffs_alpha_nominal!.value).toBeCloseTo(0.4, 12);
    expect(body.krippendorffs_alpha_interval!.value).toBeCloseTo(0.4, 12);
    // The bounds were computed with scipy.
    expect(Math.abs(body.cohens_kappa!.confidence_interval!.lower - 0.1334)).toBeLessThan(0.02);
    expect(Math.abs(body.cohens_kappa!.confidence_interval!.upper - 0.6377)).toBeLessThan(0.02);

    expect(await agreement(judge, person)).toEqual(body);
    const swapped = await agreement(person, judge);
    expect(swapped.confusion!.counts).toEqual([[15, 5], [10, 20]]); // oxfmt-ignore
    expect(swapped.cohens_kappa!.value).toBeCloseTo(0.4, 12);
    // The experiment has all these units; another experiment has none.
    expect(await agreement(judge, person, { experiment_id: id })).toEqual({ ...body, experiment_id: id });
    const { experiment_id: other } = await space.experiment();
    expect((await agreement(judge, person, { experiment_id: other })).units).toBe(0);
    // A person corrects a score.
    await on.score(person, { result_id: results[0]!.result_id, score: false });
    expect((await agreement(judge, person)).confusion!.counts).toEqual([[15, 10], [6, 19]]); // oxfmt-ignore
  });

  /** Runs a scorer over the results of an experiment, and waits for the end of the run. */
  const run = async ({ scorer_id }: Scorer, experiment_id: string): Promise<void> => {
    const started = await space.evaluator.post(`/eval/v1/scorers/${scorer_id}/score`, { experiment_id });
    const path = started.headers.get('location')!;
    while (!['succeeded', 'failed'].includes((await space.viewer.get(path)).body.run_status as string)) {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  };

  it('includes cases that crashed before they had a trace, and ignores scores of a result that was replaced', async () => {
    const id = await experimentOf(space, [
      { case_id: 'crashed', error: { message: 'timeout' } },
      { case_id: 'traced', output: 'yes', trace_id: newTraceId() },
      { case_id: 'said', output: 'yes', session_id: 's' },
    ]);
    const results = await resultsOf(id);
    const [judge, person] = [await code(), await on.scorer(BOOLEAN)];
    await run(judge, id);
    for (const { result_id } of results) await on.score(person, { result_id, score: false });
    const all = await agreement(judge, person);
    // Both scored the crashed case as 0.
    expect([all.units, all.confusion!.counts]).toEqual([3, [[1, 0], [2, 0]]]); // oxfmt-ignore
    expect((await agreement(judge, person, { experiment_id: id })).confusion).toEqual(all.confusion);
    for (const case_id of ['crashed', 'traced', 'said']) {
      const replacement = { case_id, output: 'yes', on_conflict: 'replace' };
      const path = `/eval/v1/experiments/${id}/results`;
      expect((await space.post(path, replacement)).status).toBe(200);
      const left = { crashed: 2, traced: 1, said: 0 }[case_id];
      expect((await agreement(judge, person)).units).toBe(left);
      expect((await agreement(judge, person, { experiment_id: id })).units).toBe(left);
    }
    // The judge scores the new results, which nobody else has scored yet.
    await run(judge, id);
    expect((await agreement(judge, person)).units).toBe(0);
    await on.score(person, { result_id: results[0]!.result_id, score: true });
    expect((await agreement(judge, person)).units).toBe(1);
  });

  it.each(['results', 'traces'])('does not compare a judge of an output with people on another one, if %s were rated last', async (last) => {
    const [judge, person] = [await code(), await on.scorer(BOOLEAN)];
    const truths = [true, true, true, false, false, false];
    const traces: string[] = [];
    for (const _ of truths) traces.push(await on.exportTrace());
    const id = await experimentOf(
      space,
      traces.map((trace_id, i) => ({ case_id: `${i}`, output: truths[i] ? 'no' : 'yes', trace_id })),
    );
    const results = await resultsOf(id);
    const record = async (target: object, score: boolean): Promise<void> => {
      const body = { workspace_id: space.id, scorer_id: judge.scorer_id, score, ...target };
      expect((await space.evaluator.post(SCORES, body)).status).toBe(201);
      await on.score(person, { ...target, score });
    };
    const rateTraces = async () => {
      for (const [i, trace_id] of traces.entries()) await record({ trace_id }, truths[i]!);
    };
    const rateResults = async () => {
      for (const { result_id, trace_id } of results) await record({ result_id }, !truths[traces.indexOf(trace_id!)]);
    };
    for (const rate of last === 'traces' ? [rateResults, rateTraces] : [rateTraces, rateResults]) await rate();
    for (const query of [{}, { experiment_id: id }] as Record<string, string>[]) {
      const { units, cohens_kappa, confusion } = await agreement(judge, person, query);
      expect([units, cohens_kappa!.value, confusion!.counts]).toEqual([6, 1, [[3, 0], [0, 3]]]);
      expect((await agreement(person, judge, query)).cohens_kappa!.value).toBe(1);
    }
  }); // oxfmt-ignore

  it('does not count a unit of which the judge scored only the trace and people only a result, or the reverse', async () => {
    const [judge, person] = [await code(), await on.scorer(BOOLEAN)];
    const [a, b] = [await on.exportTrace(), await on.exportTrace()];
    const id = await experimentOf(space, [a, b].map((trace_id, i) => ({ case_id: `${i}`, trace_id })));
    const [first, second] = await resultsOf(id);
    const targets = [{ trace_id: first!.trace_id }, { result_id: second!.result_id }];
    for (const target of targets) {
      const body = { workspace_id: space.id, scorer_id: judge.scorer_id, score: 1, ...target };
      expect((await space.evaluator.post(SCORES, body)).status).toBe(201);
    }
    await on.score(person, { result_id: first!.result_id, score: true });
    await on.score(person, { trace_id: second!.trace_id, score: true });
    for (const query of [{}, { experiment_id: id }] as Record<string, string>[]) expect((await agreement(judge, person, query)).units).toBe(0);
  }); // oxfmt-ignore

  it('prefers scores of the output of a trace, or of the output of a result when limited to an experiment', async () => {
    const trace_id = await on.exportTrace('talk');
    const [judge, person] = [await code(), await on.scorer(BOOLEAN)];
    const record = async (scorer_id: string, target: object, score: boolean): Promise<void> => {
      const body = { workspace_id: space.id, scorer_id, score, ...target };
      expect((await space.evaluator.post(SCORES, body)).status).toBe(201);
    };
    await record(person.scorer_id, { trace_id }, true);
    await record(judge.scorer_id, { trace_id }, true);
    const id = await experimentOf(space, [{ case_id: 'c', output: 'another answer', trace_id }]);
    const [result] = await resultsOf(id);
    await record(judge.scorer_id, { result_id: result!.result_id }, false);
    expect((await agreement(judge, person, { experiment_id: id })).observed_agreement!.value).toBe(1);
    await record(person.scorer_id, { result_id: result!.result_id }, true);
    expect((await agreement(judge, person)).observed_agreement!.value).toBe(1);
    expect((await agreement(judge, person, { experiment_id: id })).observed_agreement!.value).toBe(0);
  });

  it('has a confusion matrix of labels', async () => {
    const [a, b] = [await code(), await on.scorer(BOOLEAN)];
    const counts = [[11, 3, 1], [2, 7, 4], [0, 1, 9]]; // oxfmt-ignore
    const labels = ['curt', 'kind', 'rude'];
    const pairs = counts.flatMap((row, i) => row.flatMap((count, j) => times(count, [labels[i], labels[j]])));
    await experimentOf(
      space,
      pairs.map(([x, y], i) => ({
        case_id: `${i}`,
        // A label without a number is a score.
        scores: { a: scoreBy(a, null, { label: x }), b: scoreBy(b, 0.5, { label: y }) },
      })),
    );
    const body = await agreement(a, b);
    expect(body.confusion).toEqual({
      basis: 'label',
      categories: labels,
      category_scores: null,
      counts,
      units: 38,
    });
    expect(body.cohens_kappa!.value).toBeCloseTo(274 / 483, 12);
    expect(body.observed_agreement!.value).toBeCloseTo(27 / 38, 12);
    expect([body.weighted_kappa, body.krippendorffs_alpha_interval, body.mean_absolute_error]).toEqual([
      null,
      null,
      null,
    ]);
  });

  it('has a mean error and no confusion matrix on a continuous scale', async () => {
    const [a, b] = [await code(), await on.scorer(STARS)];
    // The pairs are 0 and 0.5, 1 and 1.5, ... 10 and 10.5, which are 22 values.
    await experimentOf(
      space,
      resultsOfBoth(
        a,
        b,
        Array.from({ length: 11 }, (_, i) => [i, i + 0.5]),
      ),
    );
    const body = await agreement(a, b);
    expect([body.units, body.confusion, body.cohens_kappa, body.krippendorffs_alpha_nominal]).toEqual([
      11,
      null,
      null,
      null,
    ]);
    expect(body.mean_absolute_error).toEqual({
      units: 11,
      value: 0.5,
      confidence_interval: { lower: 0.5, upper: 0.5 },
    });
    // The squared deviations of 22 evenly spaced values with a step of 0.5 sum to 221.375.
    expect(body.krippendorffs_alpha_interval!.value).toBeCloseTo(1 - (21 * 5.5) / (2 * 22 * 221.375), 12);
  });

  it('combines annotators by mean for numbers, and by majority for categories', async () => {
    const [judge, person] = [await code(), await on.scorer(STARS)];
    const id = await experimentOf(space, [{ case_id: '1', scores: { judge: scoreBy(judge, 4) } }, { case_id: '2', scores: { judge: scoreBy(judge, 2) } }]);
    const [first, second] = await resultsOf(id);
    const annotators = [on.ann, await on.annotator(), await on.annotator()];
    for (const [i, stars] of [5, 4, 4].entries()) await on.score(person, { result_id: first!.result_id, score: stars }, annotators[i]);
    // Neither value has a majority, so the unit counts only for the measures of numbers.
    for (const [i, stars] of [1, 3].entries()) await on.score(person, { result_id: second!.result_id, score: stars }, annotators[i]);
    const body = await agreement(judge, person);
    expect(body.mean_absolute_error!.value).toBeCloseTo((1 / 3 + 0) / 2, 12);
    expect(body.tie_count).toBe(1);
    expect(body.confusion).toMatchObject({ categories: [4], counts: [[1]] });
  }); // oxfmt-ignore

  it('has no kappa without variation, and no statistics without shared units', async () => {
    const [a, b, c] = [await code(), await on.scorer(BOOLEAN), await on.scorer(BOOLEAN)];
    await experimentOf(space, resultsOfBoth(a, b, times(5, [1, 1])));
    const same = await agreement(a, b);
    const none = { units: 5, value: null, confidence_interval: null };
    expect(same).toMatchObject({ cohens_kappa: none, krippendorffs_alpha_nominal: none });
    expect(same.observed_agreement).toEqual({
      units: 5,
      value: 1,
      confidence_interval: { lower: 1, upper: 1 },
    });
    const nothing = await agreement(a, c);
    expect(nothing).toMatchObject({
      units: 0,
      confusion: null,
      mean_absolute_error: null,
      cohens_kappa: null,
    });
  });

  describe('for choices with scores', () => {
    const LABELS = ['curt', 'kind', 'rude'];
    const COUNTS = [[11, 3, 1], [2, 7, 4], [0, 1, 9]]; // oxfmt-ignore
    const PAIRS = COUNTS.flatMap((row, i) =>
      row.flatMap((count, j) => times(count, [LABELS[i]!, LABELS[j]!] as const)),
    );
    /** Returns results that both scorers have labeled. */
    const labeledResults = (a: Scorer, b: Scorer): Fields[] =>
      PAIRS.map(([x, y], i) => ({
        case_id: `${i}`,
        scores: { a: scoreBy(a, 0.5, { label: x }), b: scoreBy(b, 0.5, { label: y }) },
      }));
    const choicesOf = (scores: number[]) => ({
      type: 'choice',
      choices: LABELS.map((value, i) => ({ value, score: scores[i] })),
    });
    const kappaOf = async (a: Scorer, b: Scorer, query = {}) => {
      const { confusion, weighted_kappa, cohens_kappa } = await fixture.agreement(a, b, query);
      expect(confusion).toMatchObject({ basis: 'label', categories: LABELS, counts: COUNTS });
      expect(cohens_kappa!.value).toBeCloseTo(274 / 483, 12);
      return { scores: confusion!.category_scores, kappa: weighted_kappa };
    };

    it('weights disagreements by squared distance', async () => {
      const [judge, person] = [await fixture.judge(TONE), await on.scorer(TONE)];
      await experimentOf(space, labeledResults(judge, person));
      const { scores, kappa } = await kappaOf(judge, person);
      expect(scores).toEqual([0.25, 1, -1]);
      // Computed from the moments of the labels (Fleiss and Cohen 1973), which need no confusion matrix.
      const value = { curt: 0.25, kind: 1, rude: -1 } as Record<string, number>;
      const [x, y] = [0, 1].map((side) => PAIRS.map((pair) => value[pair[side]!]!)) as [number[], number[]];
      const mean = (values: number[]) => values.reduce((sum, one) => sum + one, 0) / values.length;
      const variance = (values: number[]) => mean(values.map((one) => (one - mean(values)) ** 2));
      const observed = mean(x.map((one, i) => (one - y[i]!) ** 2));
      const expected = variance(x) + variance(y) + (mean(x) - mean(y)) ** 2;
      expect(kappa!.value).toBeCloseTo(1 - observed / expected, 12);
      expect(kappa!.units).toBe(38);
      expect(kappa!.confidence_interval!.lower).toBeLessThan(kappa!.value!);
    });

    it('takes the scores of choices from the version of the scorer that has choices', async () => {
      const [a, person] = [await code(), await on.scorer(choicesOf([1, 2, 3]))];
      await experimentOf(space, labeledResults(a, person));
      expect((await kappaOf(a, person)).scores).toEqual([1, 2, 3]);
      const definition = { rubric: 'Is it good?', output: choicesOf([3, 2, 1]) };
      await space.editor.patch(`/eval/v1/scorers/${person.scorer_id}`, { definition });
      expect((await kappaOf(a, person)).scores).toEqual([1, 2, 3]);
    });

    it.each<[string, () => Promise<Scorer>, () => Promise<Scorer>]>([
      ['the two score a choice differently', () => fixture.judge(choicesOf([1, 2, 3])), () => fixture.judge(choicesOf([1, 2, 4]))],
      ['a label is not one of the choices', () => code(), () => fixture.judge({ type: 'choice', choices: choicesOf([1, 2]).choices.slice(0, 2) })],
      ['neither has choices', () => code(), () => on.scorer(BOOLEAN)],
    ])('has no weighted kappa if %s', async (_, first, second) => {
      const [one, other] = [await first(), await second()];
      await experimentOf(space, labeledResults(one, other));
      expect(await kappaOf(one, other)).toEqual({ scores: null, kappa: null });
    }); // oxfmt-ignore

    it('has no weighted kappa if all choices have the same score', async () => {
      const [judge, person] = [
        await fixture.judge(choicesOf([1, 1, 1])),
        await fixture.judge(choicesOf([1, 1, 1])),
      ];
      await experimentOf(space, labeledResults(judge, person));
      const none = { units: 38, value: null, confidence_interval: null };
      expect(await kappaOf(judge, person)).toEqual({ scores: [1, 1, 1], kappa: none });
    });
  });
});
