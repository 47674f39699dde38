import { sharedApp } from '#testing';
import type { GateResultDto } from '../../../src/evaluation/experiments/gate/gate.dto';
import { byScorer, compare, compared, completed, experimentOf, EXPERIMENTS } from './comparison.fixture';
import { uploadVersion } from './dataset-versions.fixture';
import {
  type Dataset,
  EvaluationWorkspace,
  type Experiment,
  outcome,
  places,
  type ProblemBody,
  type Result,
} from './evaluation.harness';

type Fields = Record<string, unknown>;

const times = <Value>(count: number, value: Value): Value[] => new Array<Value>(count).fill(value);

/** Each test is named after the wrong conclusion that it prevents. */
describe('an evaluation', () => {
  const app = sharedApp();
  let space: EvaluationWorkspace;

  beforeEach(async () => {
    space = await EvaluationWorkspace.open(app);
  });

  const gate = async (id: string, body: Fields): Promise<GateResultDto> => {
    const answer = await space.viewer.post<GateResultDto>(`${EXPERIMENTS}/${id}/gate`, body);
    expect(answer.status).toBe(200);
    return answer.body;
  };
  const create = (fields: Fields) =>
    space.post<Experiment>('/eval/v1/experiments', { name: 'qa', ...fields });
  /** A CSV version with these many cases, `c1` and so on. */
  const csvOf = async (count: number): Promise<Fields> => {
    const { dataset_id } = await space.dataset();
    const rows = Array.from({ length: count }, (_, i) => `c${i + 1},q${i + 1},a${i + 1}\n`).join('');
    await uploadVersion(space, dataset_id, `id,input,expected\n${rows}`);
    return { dataset_id, dataset_version: 1 };
  };
  const casesOf = (scores: unknown[], fields: (i: number) => Fields = () => ({})): Fields[] =>
    scores.map((score, i) => ({ case_id: `c${i + 1}`, scores: { exact: score }, ...fields(i) }));

  describe('with two versions of a scorer', () => {
    const scoredBy = (version: number | null, scores: number[]): Fields[] =>
      scores.map((score, i) => ({
        case_id: `c${i + 1}`,
        scores: { exact: version === null ? score : { score, scorer_version: version } },
      }));
    const worse = [...times(10, 0)];
    const better = [...times(10, 1)];
    const rules = [{ scorer: 'exact', min_mean: 0, max_regression: 0.1, min_coverage: 0 }];

    it('does not report a regression for identical outputs that a stricter version scored', async () => {
      const baseline = await completed(space, scoredBy(1, better));
      const candidate = await completed(space, scoredBy(2, worse));
      const comparison = byScorer(await compared(space, candidate, baseline), 'exact');
      expect(comparison).toMatchObject({
        candidate: { mean: 0, scorer_version: 2 },
        baseline: { mean: 1, scorer_version: 1 },
        verdict: 'not_comparable',
        reason: expect.stringMatching(/version 2.*version 1/),
        p_value: null,
        difference: null,
        confidence_interval: null,
        improved: 0,
        regressed: 0,
      });
      const body = await gate(candidate, { baseline_experiment_id: baseline, rules });
      expect(body.passed).toBe(false);
      expect(body.checks.map((check) => [check.kind, check.status, check.scorer_version])).toEqual([
        ['min_mean', 'passed', 2],
        ['max_regression', 'failed', 2],
      ]);
      expect(body.checks[1]).toMatchObject({
        baseline_scorer_version: 1,
        reason: expect.stringMatching(/version 2.*version 1/),
      });
    });

    it('compares the versions if the caller allows it', async () => {
      const baseline = await completed(space, scoredBy(1, better));
      const candidate = await completed(space, scoredBy(2, worse));
      const query = { allow_version_mismatch: 'true' };
      const comparison = byScorer(await compared(space, candidate, baseline, query), 'exact');
      expect(comparison).toMatchObject({ verdict: 'regressed', difference: -1, reason: null });
      const allowed = { baseline_experiment_id: baseline, rules, allow_version_mismatch: true };
      expect((await gate(candidate, allowed)).checks[1]).toMatchObject({ status: 'failed', actual: -1 });
    });

    it('does not compare scores that have a version with scores that have none', async () => {
      const baseline = await completed(space, scoredBy(null, better));
      const candidate = await completed(space, scoredBy(1, better));
      const comparison = byScorer(await compared(space, candidate, baseline), 'exact');
      expect(comparison).toMatchObject({ verdict: 'not_comparable', difference: null });
      const plain = byScorer(await compared(space, baseline, await completed(space, scoredBy(null, worse))), 'exact');
      expect(plain).toMatchObject({ verdict: 'improved', candidate: { scorer_version: null }, reason: null });
    }); // oxfmt-ignore

    it('does not compare an experiment that mixes versions, unless one version is selected', async () => {
      const baseline = await completed(space, scoredBy(1, better));
      const mixed = [...scoredBy(2, worse).slice(0, 5), ...scoredBy(1, better).slice(5)];
      const candidate = await experimentOf(space, mixed);
      const ownComparison = byScorer(await compared(space, candidate, baseline), 'exact');
      expect(ownComparison).toMatchObject({
        verdict: 'not_comparable',
        difference: null,
        reason: expect.stringMatching(/candidate mixes versions.*5 results/),
      });
      const checks = (await gate(candidate, { baseline_experiment_id: baseline, rules })).checks;
      expect(checks.map((check) => check.status)).toEqual(['failed', 'failed']);
      // one version can still be asked for, and says how much it covers
      const comparison = await compared(space, candidate, baseline, { scorer: 'exact', scorer_version: '1' });
      expect(byScorer(comparison, 'exact')).toMatchObject({ cases: 5, difference: 0, candidate: { scored_count: 5 } });
      // a case that this version has not scored does not show the score of another one
      const cases = comparison.cases.items.map(({ case_id, outcome: of, candidate: [trial] }) => [case_id, of, trial!.scores]);
      expect(cases).toContainEqual(['c1', 'missing', {}]);
      expect(cases).toContainEqual(['c6', 'unchanged', { exact: 1 }]);
    }); // oxfmt-ignore
  });

  describe('with two scorers of one name', () => {
    it('does not compare a scorer with the archived one whose name it took over', async () => {
      const scorerOf = async (): Promise<string> => {
        const answer = await space.post<{ scorer_id: string }>('/eval/v1/scorers', {
          name: 'exact',
          scorer_kind: 'code',
          definition: { language: 'javascript', source: 'function score() { return 1 }' },
        });
        return answer.body.scorer_id;
      };
      const scored = (scorer_id: string, score: number): Fields[] =>
        casesOf(times(10, { score, scorer_id, scorer_version: 1 }));
      const first = await scorerOf();
      const baseline = await completed(space, scored(first, 0));
      await space.evaluator.post(`/eval/v1/scorers/${first}/archive`);
      const second = await scorerOf();
      const candidate = await completed(space, scored(second, 1));
      const comparison = byScorer(await compared(space, candidate, baseline), 'exact');
      const reason = expect.stringContaining([first, second].sort().join(', ')) as string;
      expect(comparison).toMatchObject({ verdict: 'not_comparable', difference: null, reason });
      const rules = [{ scorer: 'exact', min_mean: 0, max_regression: 1, min_coverage: 0 }];
      const { checks } = await gate(candidate, { baseline_experiment_id: baseline, rules });
      expect(checks).toMatchObject([{ status: 'passed' }, { status: 'failed', reason }]);
    });
  });

  describe('with two CSV versions', () => {
    const versions = async (header: string, first: string[], second: string[]): Promise<Fields[]> => {
      const { dataset_id } = await space.dataset();
      for (const rows of [first, second])
        await uploadVersion(space, dataset_id, `${header}\n${rows.join('\n')}\n`);
      return [1, 2].map((dataset_version) => ({ dataset_id, dataset_version }));
    };

    it('does not compare row numbers as cases, so that a new first row hides no regression', async () => {
      const [one, two] = await versions('input,expected', ['a,1', 'b,2'], ['new,0', 'a,1', 'b,2']);
      const baseline = await completed(space, casesOfRows([1, 0]), one);
      const candidate = await completed(space, casesOfRows([1, 0, 1]), two);
      const comparison = await compared(space, candidate, baseline);
      const reason = expect.stringMatching(/^2 of 2 shared cases changed/) as string;
      expect(byScorer(comparison, 'exact')).toMatchObject({
        verdict: 'not_comparable',
        difference: null,
        reason,
        changed_case_count: 2,
        missing: 1,
      });
      expect(comparison.totals).toMatchObject({ cases: 3, cases_shared: 0, changed_case_count: 2 });
      const rules = [{ scorer: 'exact', max_regressed_cases: 0 }];
      const refused = await gate(candidate, { baseline_experiment_id: baseline, rules });
      expect(refused.checks[0]).toMatchObject({
        kind: 'max_regressed_cases',
        status: 'failed',
        reason,
        changed_case_count: 2,
      });
      const same = await completed(space, casesOfRows([0, 1]), one);
      expect(byScorer(await compared(space, same, baseline), 'exact')).toMatchObject({
        improved: 1,
        regressed: 1,
      });
    });

    it('does not report an improvement on questions that all changed under the same ids', async () => {
      const rows = (question: string) => Array.from({ length: 20 }, (_, i) => `c${i + 1},${question} ${i},x`);
      const [one, two] = await versions('id,input,expected', rows('hard'), rows('easy'));
      const baseline = await completed(space, casesOf(times(20, 0)), one);
      const candidate = await completed(space, casesOf(times(20, 1)), two);
      const comparison = byScorer(await compared(space, candidate, baseline), 'exact');
      expect(comparison).toMatchObject({ verdict: 'not_comparable', p_value: null, changed_case_count: 20 });
      const rules = [{ scorer: 'exact', max_regression: 0 }];
      expect((await gate(candidate, { baseline_experiment_id: baseline, rules })).passed).toBe(false);
      // no share of comparable cases is too low, but changed cases are never pairs
      const query = { min_comparable: '0' };
      expect(byScorer(await compared(space, candidate, baseline, query), 'exact')).toMatchObject({
        verdict: 'inconclusive',
        cases: 0,
        difference: null,
      });
    });

    it('compares cases by their ids if a column has ids', async () => {
      const [one, two] = await versions('id,input', ['a,1', 'b,2'], ['new,0', 'a,1', 'b,2']);
      const of = (scores: Record<string, number>): Fields[] =>
        Object.entries(scores).map(([case_id, exact]) => ({ case_id, scores: { exact } }));
      const baseline = await completed(space, of({ a: 1, b: 0 }), one);
      const candidate = await completed(space, of({ new: 1, a: 0, b: 1 }), two);
      const comparison = byScorer(await compared(space, candidate, baseline), 'exact');
      expect(comparison).toMatchObject({ improved: 1, regressed: 1, reason: null });
    });

    const casesOfRows = (scores: number[]): Fields[] =>
      scores.map((exact, i) => ({ case_id: `${i + 1}`, scores: { exact } }));
  });

  describe('whose cases changed', () => {
    const answers = (fields: (i: number) => Fields, score: number, count = 10): Fields[] =>
      casesOf(times(count, score), fields);
    const totalsOf = async (candidate: string, baseline: string, query: Record<string, string> = {}) => {
      const comparison = await compared(space, candidate, baseline, query);
      const { verdict, cases, difference } = byScorer(comparison, 'exact');
      return { changed: comparison.totals.changed_case_count, verdict, cases, difference };
    };

    it('leaves out a changed case, lists it, and compares the other ones', async () => {
      const ask = (changed: number) => (i: number) => ({ input: { q: i === changed ? 'new' : i }, expected: i });
      const baseline = await completed(space, answers(ask(-1), 0));
      const candidate = await completed(space, answers(ask(3), 1));
      expect(await totalsOf(candidate, baseline)).toEqual({ changed: 1, verdict: 'improved', cases: 9, difference: 1 });
      const { cases } = await compared(space, candidate, baseline, { only: 'changed' });
      expect(cases.items.map((one) => [one.case_id, one.outcome, one.difference])).toEqual([['c4', 'changed', null]]);
      expect(cases.page.total).toBe(1);
      const missing = await compared(space, candidate, baseline, { only: 'missing' });
      expect(missing.cases.items).toEqual([]);
      const strict = { min_comparable: '0.95' };
      expect(await totalsOf(candidate, baseline, strict)).toMatchObject({ verdict: 'not_comparable', cases: 0 });
      const rules = [{ scorer: 'exact', max_regression: 0 }];
      const body = { baseline_experiment_id: baseline, rules };
      expect((await gate(candidate, body)).checks[0]).toMatchObject({ status: 'passed', changed_case_count: 1 });
      expect((await gate(candidate, { ...body, min_comparable: 0.95 })).checks[0]).toMatchObject({
        status: 'failed',
        reason: expect.stringMatching(/^1 of 10 shared cases changed.*95%/) as string,
      });
    }); // oxfmt-ignore

    it('sees a changed expected output, but no difference in an unknown one', async () => {
      const expecting = (expected: unknown) => () => ({ input: 'same', expected });
      const baseline = await completed(space, answers(expecting('42'), 1));
      const stricter = await completed(space, answers(expecting('43'), 1));
      expect(await totalsOf(stricter, baseline)).toMatchObject({ changed: 10, verdict: 'not_comparable' });
      const unknown = await completed(
        space,
        answers(() => ({ input: 'same' }), 1),
      );
      expect(await totalsOf(unknown, baseline)).toMatchObject({ changed: 0, cases: 10 });
    });

    it('takes the same value in another spelling for the same', async () => {
      const spelled = async (input: string): Promise<string> => {
        const { experiment_id } = await space.experiment();
        await space.result(experiment_id, { case_id: 'c1', input: JSON.parse(input), scores: { exact: 1 } });
        await space.finalize(experiment_id);
        return experiment_id;
      };
      const baseline = await spelled('{"a": 1, "b": [1.5, {"x": "1", "y": 100}]}');
      const reordered = await spelled('{"b": [1.5, {"y": 100, "x": "1"}], "a": 1}');
      expect(await totalsOf(reordered, baseline)).toMatchObject({ changed: 0, cases: 1 });
      for (const other of ['{"a": 1, "b": [{"x": "1", "y": 100}, 1.5]}', '{"a": 1, "b": [1.5, {"x": 1, "y": 100}]}'])
        expect(await totalsOf(await spelled(other), baseline)).toMatchObject({ changed: 1 });
    }); // oxfmt-ignore

    it('takes 1 and 1.0 for the same number', async () => {
      const exact = async (input: string): Promise<string> => {
        const id = (await space.experiment()).experiment_id;
        await space.result(id, { case_id: 'c1', scores: { exact: 1 } });
        await app.database.query('UPDATE results SET input = $1::json WHERE experiment_id = $2', [input, id]);
        await space.finalize(id);
        return id;
      };
      const baseline = await exact('{"n": 1, "big": 1e2}');
      expect(await totalsOf(await exact('{"n": 1.0, "big": 100}'), baseline)).toMatchObject({ changed: 0 });
      expect(await totalsOf(await exact('{"n": 1.01, "big": 100}'), baseline)).toMatchObject({ changed: 1 });
    });

    it('compares the versions of an edited record that each experiment used', async () => {
      const { dataset_id } = await space.dataset();
      const records: { dataset_record_id: string }[] = [];
      for (let i = 0; i < 2; i++) records.push(await space.record(dataset_id, { input: `q${i}`, expected: 'x' }));
      const run = () =>
        completed(
          space,
          records.map(({ dataset_record_id }, i) => ({ case_id: `c${i}`, dataset_record_id, scores: { exact: i } })),
          { dataset_id },
        );
      const before = await run();
      const path = `/eval/v1/datasets/${dataset_id}/records/${records[0]!.dataset_record_id}`;
      expect((await space.editor.patch(path, { tags: ['t'] })).status).toBe(200);
      expect(await totalsOf(await run(), before)).toMatchObject({ changed: 0 });
      expect((await space.editor.patch(path, { expected: 'y' })).status).toBe(200);
      expect(await totalsOf(await run(), before)).toMatchObject({ changed: 1, verdict: 'not_comparable' });
    }); // oxfmt-ignore

    it('pairs a case whose trials ask in several ways if both sides ask in one of them', async () => {
      const trials = (...inputs: string[]): Fields[] =>
        inputs.map((input, i) => ({ case_id: `t${i}`, trial_group: 'g', input, scores: { exact: 1 } }));
      const baseline = await completed(space, trials('how', 'why'));
      expect(await totalsOf(await completed(space, trials('why', 'how')), baseline)).toMatchObject({ changed: 0 });
      expect(await totalsOf(await completed(space, trials('what')), baseline)).toMatchObject({ changed: 1 });
    }); // oxfmt-ignore
  });

  it('does not pass a gate if its experiment failed', async () => {
    const id = await experimentOf(space, casesOf([1, 1]));
    await space.editor.patch(`${EXPERIMENTS}/${id}`, { experiment_status: 'failed' });
    const rules = [{ scorer: 'exact', min_mean: 0 }];
    const answer = await space.viewer.post(`${EXPERIMENTS}/${id}/gate`, { rules });
    expect(outcome(answer)).toEqual([409, 'conflict']);
  });

  describe('with a gate', () => {
    it('requires a score for every case of the dataset by default', async () => {
      const csv = await csvOf(200);
      const candidate = await completed(space, casesOf([1, 1, 1]), csv);
      const body = await gate(candidate, { rules: [{ scorer: 'exact', min_mean: 0.9 }] });
      expect(body.passed).toBe(false);
      expect(body.coverage).toEqual({
        expected_case_count: 200,
        result_count: 3,
        error_count: 0,
        scorers: { exact: { scored_count: 3, null_count: 0 } },
      });
      expect(body.checks.map((check) => [check.kind, check.status])).toEqual([
        ['min_mean', 'passed'],
        ['min_coverage', 'failed'],
      ]);
      expect(body.checks[1]!.reason).toContain('3 of 200 cases');
      const some = await gate(candidate, { rules: [{ scorer: 'exact', min_mean: 0.9, min_coverage: 0.01 }] });
      expect(some.passed).toBe(true);
      const summary = (await space.viewer.get<Experiment>(`${EXPERIMENTS}/${candidate}`)).body.summary!;
      expect(summary.coverage).toEqual(body.coverage);
    });

    it('counts intended nulls as covered, but not errors', async () => {
      const csv = await csvOf(4);
      const results = casesOf([1, null, null], (i) => (i === 2 ? { error: 'timed out' } : {}));
      const candidate = await completed(space, results, csv);
      const rule = { scorer: 'exact', min_coverage: 0.75 };
      const body = await gate(candidate, { rules: [rule, { ...rule, min_coverage: 0.5 }] });
      expect(body.coverage).toMatchObject({
        error_count: 1,
        scorers: { exact: { scored_count: 1, null_count: 1 } },
      });
      expect(body.checks.map((check) => check.status)).toEqual(['failed', 'passed']);
      const compared1 = byScorer(await compared(space, candidate, await completed(space, casesOf([1]), csv)), 'exact');
      expect(compared1).toMatchObject({
        candidate: { scored_count: 1, null_count: 1 },
        baseline: { scored_count: 1 },
      });
    }); // oxfmt-ignore

    it('fails if too few cases of its baseline have a score to show a regression', async () => {
      const csv = await csvOf(20);
      const baseline = await completed(space, casesOf([1]), csv);
      const candidate = await completed(space, casesOf([1, ...times(19, 0)]), csv);
      const rules = [{ scorer: 'exact', max_regression: 0.01 }];
      const body = await gate(candidate, { baseline_experiment_id: baseline, rules });
      expect(body.checks[0]).toMatchObject({ kind: 'max_regression', status: 'failed' });
      expect(body.checks[0]!.reason).toContain('In the baseline, 1 of 20 cases has a score');
      expect(body.baseline_coverage).toMatchObject({ result_count: 1, expected_case_count: 20 });
      const partly = { baseline_experiment_id: baseline, rules: [{ ...rules[0], min_coverage: 0 }] };
      expect((await gate(candidate, partly)).passed).toBe(true);
    });

    it('does not count results for records that were added later in place of missing cases', async () => {
      const { dataset_id } = await space.dataset();
      const [first] = [await space.record(dataset_id), await space.record(dataset_id)];
      const { experiment_id } = await space.experiment({ dataset_id });
      const late = await space.record(dataset_id);
      const results = [first!, late].map(({ dataset_record_id }, i) => ({
        case_id: `c${i}`,
        dataset_record_id,
        scores: { exact: 1 },
      }));
      expect(await space.results(experiment_id, results)).toEqual([201, 201]);
      const body = await gate(experiment_id, { rules: [{ scorer: 'exact', min_mean: 1 }] });
      expect(body.coverage).toMatchObject({ expected_case_count: 2, result_count: 2 });
      expect(body.checks[1]).toMatchObject({ kind: 'min_coverage', status: 'failed', actual: 0.5 });
    });

    it('does not count trials of one case in place of other cases', async () => {
      const { dataset_id } = await space.dataset();
      const [{ dataset_record_id }] = [await space.record(dataset_id), await space.record(dataset_id)];
      const trials = [1, 2].map((i) => ({ case_id: `t${i}`, dataset_record_id, scores: { exact: 1 } }));
      const candidate = await experimentOf(space, trials, { dataset_id });
      const body = await gate(candidate, { rules: [{ scorer: 'exact', min_count: 1 }] });
      expect(body.checks.map((check) => check.status)).toEqual(['passed', 'failed']);
      expect(body.checks[1]!.reason).toContain('1 of 2 cases');
    });

    it('counts trials as one case without a dataset, both in the gate and in the summary', async () => {
      const trials = [1, 2, 3].map((i) => ({ case_id: `t${i}`, trial_group: 'a', scores: { exact: 1 } }));
      const id = await experimentOf(space, trials);
      const { coverage } = await gate(id, { rules: [{ scorer: 'exact', min_count: 3, min_coverage: 1 }] });
      expect(coverage.scorers).toEqual({ exact: { scored_count: 1, null_count: 0 } });
      const { summary } = await space.finalize(id);
      expect(summary!.coverage).toEqual(coverage);
    });

    it('does not pass when half of the cases crashed, without a dataset', async () => {
      const crashed = (scores: Fields) => (i: number) => (i < 10 ? { error: 'timeout', ...scores } : {});
      const rules = [{ scorer: 'exact', min_mean: 1 }];
      const check = async (results: Fields[]) => (await gate(await experimentOf(space, results), { rules })).checks[1]!;
      const scores = [...times(10, null), ...times(10, 1)];
      expect(await check(casesOf(scores, crashed({})))).toMatchObject({
        kind: 'min_coverage',
        status: 'failed',
        actual: 0.5,
        reason: '10 of 20 cases have a score; at least 100% is required.',
      });
      expect(await check(casesOf(scores, crashed({ scores: {} })))).toMatchObject({ status: 'failed', actual: 0.5 });
      // a scorer of half of the results, and one that abstained
      const half = casesOf(times(20, 1), (i) => (i % 2 === 0 ? { scores: { other: 1 } } : {}));
      expect(await check(half)).toMatchObject({ status: 'failed', actual: 0.5 });
      expect(await check(casesOf(scores))).toMatchObject({
        status: 'passed',
        reason: '20 of 20 cases have a score (including 10 deliberate nulls); at least 100% is required.',
      });
      // a client that scores its failures says so itself
      const failures = casesOf([...times(10, 0), ...times(10, 1)], crashed({}));
      expect(await check(failures)).toMatchObject({ status: 'passed', actual: 1 });
      const none = await gate(await experimentOf(space, []), { rules });
      expect(none).toMatchObject({ passed: false, checks: [{ status: 'failed' }, { status: 'failed', actual: 0 }] });
    }); // oxfmt-ignore

    it('does not count a case as covered if one of its trials crashed', async () => {
      const trial = (n: number, fields: Fields) => ({ case_id: `a#${n}`, trial_group: 'a', ...fields });
      const results = [trial(1, { scores: { exact: 1 } }), trial(2, { error: 'crashed' }), ...casesOf([1])];
      const id = await experimentOf(space, results);
      const body = await gate(id, { rules: [{ scorer: 'exact', min_mean: 1 }] });
      expect(body.checks[1]).toMatchObject({
        status: 'failed',
        reason: '1 of 2 cases has a score in each trial; at least 100% is required.',
      });
      const { summary } = await space.finalize(id);
      expect(summary!.coverage).toEqual(body.coverage);
    });

    it('does not let nine trials of an easy case hide a hard one', async () => {
      const easy = times(9, 1).map((exact, i) => ({
        case_id: `e${i}`,
        trial_group: 'easy',
        scores: { exact },
      }));
      const id = await experimentOf(space, [...easy, { case_id: 'hard', scores: { exact: 0 } }]);
      const rules = [{ scorer: 'exact', min_mean: 0.9, min_count: 3 }];
      const { checks } = await gate(id, { rules });
      expect(checks[0]).toMatchObject({ status: 'failed', actual: 0.5, unit: 'cases' });
      expect(checks[1]).toMatchObject({ kind: 'min_count', status: 'failed', actual: 2 });
      const baseline = await completed(space, casesOf([1]));
      const comparison = byScorer(await compared(space, id, baseline), 'exact');
      expect(comparison).toMatchObject({ unit: 'cases', candidate: { mean: 0.5, count: 2 } });
    });

    it('can fail for one bad regression that the mean hides', async () => {
      const results = (scores: number[]) =>
        scores.map((s, i) => ({ case_id: `c${i}`, scores: { exact: s } }));
      const baseline = await completed(space, results(times(50, 0.8)));
      const candidate = await completed(space, results([...times(48, 0.9), 0.75, 0]));
      const better = await completed(space, results(times(50, 0.9)));
      const check = async (rule: Fields, experiment = candidate) => {
        const body = await gate(experiment, {
          baseline_experiment_id: baseline,
          rules: [{ scorer: 'exact', ...rule }],
        });
        const { actual, reason } = body.checks[0]!;
        return [body.passed, actual, reason];
      };
      const higher = expect.stringMatching(/^The mean is .* higher than in the baseline/);
      const worse = '2 of 50 cases got worse; at most';
      const largest = 'The largest decrease from the baseline is 0.8 (50 cases); a decrease of at most';
      const none = 'No case scores lower than in the baseline (50 cases); no decrease is allowed.';
      expect(await check({ max_regression: 0 })).toEqual([true, expect.any(Number), higher]);
      expect(await check({ max_regressed_cases: 1 })).toEqual([false, 2, `${worse} 1 may get worse.`]);
      expect(await check({ max_regressed_cases: 2 })).toEqual([true, 2, `${worse} 2 may get worse.`]);
      expect(await check({ max_case_regression: 0.79 })).toEqual([
        false,
        -0.8,
        `${largest} 0.79 is allowed.`,
      ]);
      expect(await check({ max_case_regression: 0.8 })).toEqual([true, -0.8, `${largest} 0.8 is allowed.`]);
      expect(await check({ max_case_regression: 0 }, better)).toEqual([true, expect.any(Number), none]);
    });
  });

  describe('that is retried', () => {
    it('resumes its experiment, completed or not, and creates no second one', async () => {
      const csv = await csvOf(1);
      const fields = { ...csv, run_key: 'commit 1', config: { model: 'm' }, resume: true };
      const first = await create(fields);
      expect(first.status).toBe(201);
      const id = first.body.experiment_id;
      const again = await create(fields);
      expect([again.status, again.body.experiment_id]).toEqual([200, id]);
      await space.finalize(id);
      const done = await create(fields);
      expect([done.status, done.body.experiment_id, done.body.experiment_status]).toEqual([200, id, 'completed']);
      expect((await create({ ...fields, run_key: 'commit 2' })).status).toBe(201);
      const other = await create({ ...fields, experiment_name: 'another model' });
      expect(other.status).toBe(201);
    }); // oxfmt-ignore

    it('returns 409 with the id of the experiment for a known key without resume', async () => {
      const first = await create({ run_key: 'k' });
      const second = await create({ run_key: 'k' });
      expect(outcome(second)).toEqual([409, 'conflict']);
      expect((second.body as unknown as { detail: string }).detail).toContain(first.body.experiment_id);
    });

    it('creates one experiment for concurrent jobs with the same key', async () => {
      const answers = await Promise.all(times(8, 0).map(() => create({ run_key: 'k', resume: true })));
      expect(new Set(answers.map((answer) => answer.body.experiment_id)).size).toBe(1);
      expect(answers.map((answer) => answer.status).sort()).toEqual([...times(7, 200), 201]);
    });

    it.each<[string, Fields]>([
      ['config', { config: { model: 'other' } }],
      ['subject_kind', { subject_kind: 'agent', subject_id: 'a' }],
      ['dataset_id', { dataset_id: null, dataset_version: null }],
      ['dataset_version', { dataset_version: 2 }],
      ['dataset_filter', { dataset_filter: { case_ids: ['c1'] } }],
    ])('does not resume a run with another %s', async (member, change) => {
      const csv = await csvOf(2);
      await uploadVersion(space, csv.dataset_id as string, 'id,input\nc1,x\n');
      const fields = { ...csv, run_key: 'k', config: { model: 'm' }, resume: true };
      const { experiment_id } = (await create(fields)).body;
      const answer = await create({ ...fields, ...change });
      expect(outcome(answer)).toEqual([409, 'conflict']);
      const { detail } = answer.body as unknown as { detail: string };
      expect(detail).toContain(member);
      expect(detail).toContain(experiment_id);
    });

    it('resumes a run with the members of its config in another order', async () => {
      const first = await create({ run_key: 'k', resume: true, config: { a: 1, b: { c: [2], d: null } } });
      const same = await create({ run_key: 'k', resume: true, config: { b: { d: null, c: [2] }, a: 1 } });
      expect([same.status, same.body.experiment_id]).toEqual([200, first.body.experiment_id]);
    });

    it('releases the key of a failed or archived experiment, which takes it back only if it is free', async () => {
      const failed = await create({ run_key: 'k' });
      await space.finalize(failed.body.experiment_id, { experiment_status: 'failed' });
      const second = await create({ run_key: 'k', resume: true });
      expect([second.status, second.body.experiment_id === failed.body.experiment_id]).toEqual([201, false]);
      const path = `${EXPERIMENTS}/${second.body.experiment_id}`;
      await space.archive(path);
      const third = await create({ run_key: 'k', resume: true });
      expect(third.status).toBe(201);
      expect(outcome(await space.evaluator.post(`${path}/restore`))).toEqual([409, 'conflict']);
      await space.archive(`${EXPERIMENTS}/${third.body.experiment_id}`);
      expect((await space.evaluator.post(`${path}/restore`)).status).toBe(200);
    });

    it('never changes its run key', async () => {
      const { experiment_id, run_key } = (await create({ run_key: 'k' })).body;
      const path = `${EXPERIMENTS}/${experiment_id}`;
      expect((await space.editor.patch(path, { run_key, tags: ['t'] })).status).toBe(200);
      expect(outcome(await space.editor.patch(path, { run_key: 'other' }))).toEqual([422, 'immutable_field']);
      expect(await space.list(`${EXPERIMENTS}?run_key=k`)).toHaveLength(1);
      expect(await space.list(`${EXPERIMENTS}?run_key=other`)).toEqual([]);
    });

    it('resumes only a running experiment with the same config if it has no key', async () => {
      const { experiment_id } = (await create({ config: { a: 1 } })).body;
      expect((await create({ resume: true })).body.experiment_id).toBe(experiment_id);
      expect(outcome(await create({ resume: true, config: { a: 2 } }))).toEqual([409, 'conflict']);
      await space.finalize(experiment_id);
      expect((await create({ resume: true })).status).toBe(201);
    });
  });

  describe('with a promoted baseline', () => {
    const promote = (dataset: { dataset_id: string }, baselines: Fields | null) =>
      space.editor.patch<Dataset>(`/eval/v1/datasets/${dataset.dataset_id}`, { baselines });
    const rules = [{ scorer: 'exact', max_regression: 0, min_coverage: 0 }];

    it('is compared with the run promoted for its dataset and name, unless it is that run', async () => {
      const csv = (await csvOf(2)) as { dataset_id: string };
      const run = (scores: number[], fields: Fields = {}) =>
        completed(space, casesOf(scores), { name: 'qa', ...csv, ...fields });
      const good = await run([1, 1]);
      expect((await gate(good, { rules })).checks[0]).toMatchObject({ status: 'skipped' });
      expect((await promote(csv, { qa: good })).body.baselines).toEqual({ qa: good });
      const bad = await run([1, 0]);
      expect(await gate(bad, { rules })).toMatchObject({
        passed: false,
        baseline_experiment_id: good,
        checks: [{ status: 'failed', actual: -0.5 }],
      });
      expect((await compare(space, bad)).body.baseline.experiment_id).toBe(good);
      // the promoted run itself has no baseline, and neither has another evaluation
      const itself = { reason: 'This experiment is itself the promoted baseline.' };
      const ofGood = {
        passed: true,
        baseline_experiment_id: null,
        checks: [{ status: 'skipped', ...itself }],
      };
      expect(await gate(good, { rules })).toMatchObject(ofGood);
      expect(await gate(good, { rules, require_baseline: true })).toMatchObject(ofGood);
      const both = [{ ...rules[0], min_mean: 2 }];
      expect(await gate(good, { rules: both, require_baseline: true })).toMatchObject({ passed: false });
      const refused = await compare(space, good);
      expect([refused.status, (refused.body as unknown as ProblemBody).detail]).toEqual([
        400,
        expect.stringContaining('itself the promoted baseline'),
      ]);
      expect(await gate(await run([0, 0], { name: 'other' }), { rules })).toMatchObject({ passed: true });
      // the experiment's own baseline comes first, and the one of the call before it
      const own = await run([0, 0], { baseline_experiment_id: bad });
      expect((await gate(own, { rules })).baseline_experiment_id).toBe(bad);
      const named = await gate(own, { rules, baseline_experiment_id: good });
      expect(named.baseline_experiment_id).toBe(good);
      await promote(csv, { qa: null });
      expect((await gate(bad, { rules })).checks[0]!.status).toBe('skipped');
    });

    it('can require a baseline in its gate, and cannot be compared without one', async () => {
      const candidate = await completed(space, casesOf([1]));
      const skipped = await gate(candidate, { rules });
      expect(skipped).toMatchObject({ passed: true, checks: [{ status: 'skipped', actual: null }] });
      const required = await gate(candidate, { rules, require_baseline: true });
      expect(required).toMatchObject({ passed: false, checks: [{ status: 'failed' }] });
      expect([...outcome(await compare(space, candidate))]).toEqual([400, 'invalid_query']);
      const junit = await space.viewer.post<string>(`${EXPERIMENTS}/${candidate}/gate`, { rules }, { accept: 'application/xml' });
      expect(junit.body).toMatch(/failures="0".*skipped="1".*<skipped message="There is no baseline/s);
    }); // oxfmt-ignore

    it('rejects a run that has not completed as its baseline', async () => {
      const csv = (await csvOf(1)) as { dataset_id: string };
      const candidate = await completed(space, casesOf([1]), { name: 'qa', ...csv });
      const running = await experimentOf(space, casesOf([1]), { name: 'qa', ...csv });
      expect(outcome(await promote(csv, { qa: running }))).toEqual([409, 'conflict']);
      expect(outcome(await compare(space, candidate, { baseline_experiment_id: running }))).toEqual([409, 'conflict']);
      const body = { rules, baseline_experiment_id: running };
      expect(outcome(await space.viewer.post(`${EXPERIMENTS}/${candidate}/gate`, body))).toEqual([409, 'conflict']);
      await space.finalize(running, { experiment_status: 'failed' });
      expect(outcome(await promote(csv, { qa: running }))).toEqual([409, 'conflict']);
    }); // oxfmt-ignore

    it('accepts only a run of its dataset and name as its promoted baseline', async () => {
      const csv = (await csvOf(1)) as { dataset_id: string };
      const own = await completed(space, casesOf([1]), { name: 'qa', ...csv });
      const elsewhere = await completed(space, casesOf([1]), { name: 'qa' });
      for (const [baselines, status, pointer] of [
        [{ qa: 'exp_unknown' }, 404, '/baselines/qa'],
        [{ qa: elsewhere }, 400, '/baselines/qa'],
        [{ 'a/b': own }, 400, '/baselines/a~1b'],
        [{ qa: 1 }, 400, '/baselines'],
        [{ '': own }, 400, '/baselines'],
      ] as const) {
        const answer = await promote(csv, baselines);
        expect([answer.status, ...places(answer)]).toEqual([status, pointer]);
      }
      const many = Object.fromEntries(times(101, 0).map((_, i) => [`n${i}`, null]));
      expect((await promote(csv, many)).status).toBe(400);
      await space.archive(`${EXPERIMENTS}/${own}`);
      expect(outcome(await promote(csv, { qa: own }))).toEqual([409, 'conflict']);
    });
  });

  describe('of part of a dataset', () => {
    it('covers only that part: it rejects results outside it, and expects no other cases', async () => {
      const { dataset_id } = await space.dataset();
      const easy = await space.record(dataset_id, { tags: ['easy', 'x'], label: 'l' });
      const hard = await space.record(dataset_id, { tags: ['hard', 'x'], category: 'c' });
      const make = async (dataset_filter: Fields) =>
        (await create({ dataset_id, dataset_filter })).body;
      for (const filter of [{ tags: ['hard'] }, { tags: ['x', 'hard'] }, { category: 'c' }, { dataset_record_ids: [hard.dataset_record_id] }]) {
        const made = await make(filter);
        expect(made).toMatchObject({ expected_case_count: 1, dataset_filter: filter });
        const item = ({ dataset_record_id }: { dataset_record_id: string }, case_id: string) => ({ case_id, dataset_record_id, scores: { exact: 1 } });
        expect(await space.results(made.experiment_id, [item(hard, 'h'), item(easy, 'e')])).toEqual([201, 400]);
        const { dataset_snapshot } = await space.finalize(made.experiment_id);
        expect(dataset_snapshot).toMatchObject({ record_count: 1, records: [{ dataset_record_id: hard.dataset_record_id }] });
      }
      expect(await make({ tags: ['x'] })).toMatchObject({ expected_case_count: 2 });
    }); // oxfmt-ignore

    it('selects cases of a CSV version by tags and case ids', async () => {
      const { dataset_id } = await space.dataset();
      await uploadVersion(space, dataset_id, 'id,input,kind\nc1,x,easy\nc2,y,"hard,x"\nc3,z,hard\n', {
        mapping: JSON.stringify({ input: ['input'], tags: ['kind'] }),
      });
      const make = (dataset_filter: Fields) => create({ dataset_id, dataset_version: 1, dataset_filter });
      const hard = (await make({ tags: ['hard'] })).body;
      expect(hard.expected_case_count).toBe(2);
      const statuses = await space.results(hard.experiment_id, [
        { case_id: 'c1' },
        { case_id: 'c2' },
        { case_id: 'c3', input: 1, expected: 2, tags: [] },
      ]);
      expect(statuses).toEqual([400, 201, 201]);
      expect((await make({ case_ids: ['c1', 'c3'] })).body.expected_case_count).toBe(2);
      expect((await make({ case_ids: ['c1', 'c3'], tags: ['hard'] })).body.expected_case_count).toBe(1);
      const misspelt = await make({ case_ids: ['c1', 'C3'] });
      expect([misspelt.status, ...places(misspelt)]).toEqual([400, '/dataset_filter/case_ids/1']);
      const done = await space.finalize(hard.experiment_id);
      expect(done.dataset_snapshot).toMatchObject({ source: 'csv', record_count: 2 });
    });

    it.each<[Fields, number, string]>([
      [{ dataset_filter: { tags: ['none'] } }, 400, '/dataset_filter'],
      [{ dataset_filter: { dataset_record_ids: ['rec_x'] } }, 404, '/dataset_filter/dataset_record_ids/0'],
      [{ dataset_filter: { case_ids: ['c1'] } }, 400, '/dataset_filter/case_ids'],
      [{ dataset_filter: { lable: 'x' } }, 400, '/dataset_filter/lable'],
      [{ dataset_id: null, dataset_filter: { tags: ['x'] } }, 400, '/dataset_filter'],
    ])('rejects a part that cannot be selected: %j', async (fields, status, pointer) => {
      const { dataset_id } = await space.dataset();
      await space.record(dataset_id, { tags: ['x'] });
      const answer = await create({ dataset_id, ...fields });
      expect([answer.status, ...places(answer)]).toEqual([status, pointer]);
    });

    it('requires a version at creation if its dataset has only CSV files', async () => {
      const { dataset_id } = await csvOf(2);
      const answer = await create({ dataset_id });
      expect([answer.status, ...places(answer)]).toEqual([400, '/dataset_version']);
      const labelled = await create({ dataset_id, dataset_version: 1, dataset_filter: { label: 'l' } });
      expect([labelled.status, ...places(labelled)]).toEqual([400, '/dataset_filter/label']);
    });
  });

  it('replaces all scores of a name with a patched score', async () => {
    const { experiment_id } = await space.experiment();
    const score = { score: 1, scorer_version: 3 };
    const result = await space.result(experiment_id, { case_id: 'c1', scores: { exact: score } });
    const path = `${EXPERIMENTS}/${experiment_id}/results/${result.result_id}`;
    const patched = await space.editor.patch<Result>(path, { scores: { exact: 0 } });
    expect(patched.body.scores).toEqual({ exact: 0 });
    const { checks } = await gate(experiment_id, { rules: [{ scorer: 'exact', min_mean: 0.5 }] });
    expect(checks[0]).toMatchObject({ status: 'failed', actual: 0, scorer_version: null });
  });

  it('does not use the scores of a replaced version of a result', async () => {
    const { experiment_id } = await space.experiment();
    const path = `${EXPERIMENTS}/${experiment_id}/results`;
    const first = await space.result(experiment_id, {
      case_id: 'c1',
      error: 'timed out',
      scores: { exact: 0 },
    });
    const replaced = await space.post<Result>(path, {
      case_id: 'c1',
      output: 'right',
      on_conflict: 'replace',
    });
    expect(replaced.body).toMatchObject({ result_id: first.result_id, version: 2, scores: {}, error: null });
    const body = await gate(experiment_id, { rules: [{ scorer: 'exact', min_count: 1 }] });
    expect(body).toMatchObject({ passed: false, coverage: { error_count: 0 } });
  });
});
