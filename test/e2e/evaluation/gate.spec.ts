import { sharedApp } from '#testing';
import type { GateResultDto } from '../../../src/evaluation/experiments/gate/gate.dto';
import { byScorer, compared, completed, experimentOf, EXPERIMENTS, fill, scored } from './comparison.fixture';
import { EvaluationWorkspace, outcome, places, UNKNOWN_IDS } from './evaluation.harness';

type Rule = Record<string, unknown>;

const NO_SCORES =
  "The experiment has no scores by this scorer; a mean of at least -1 is required. Check the scorer's name.";

const times = <Value>(count: number, value: Value): Value[] => new Array<Value>(count).fill(value);

describe('the gate of an experiment', () => {
  const app = sharedApp();
  let space: EvaluationWorkspace;

  beforeAll(async () => {
    space = await EvaluationWorkspace.open(app);
  });

  const send = (id: string, body: unknown, headers?: Record<string, string>) =>
    space.viewer.post<GateResultDto>(`${EXPERIMENTS}/${id}/gate`, body, headers);
  /** Returns the check of a gate that has a single rule with one bound. */
  const check = async (id: string, rule: Rule, baseline?: string) => {
    const body = {
      rules: [{ scorer: 's', min_coverage: 0, ...rule }],
      ...(baseline !== undefined && { baseline_experiment_id: baseline }),
    };
    const answer = await send(id, body);
    expect(answer.status).toBe(200);
    expect(answer.body.checks).toHaveLength(1);
    expect(answer.body.passed).toBe(answer.body.checks[0]!.status !== 'failed');
    return answer.body.checks[0]!;
  };

  describe('with a baseline', () => {
    let candidate: string;
    let baseline: string;

    beforeAll(async () => {
      // 47 of 50 cases pass, so the mean is 0.94. All 50 pass in the baseline, so the difference is -0.06.
      candidate = await experimentOf(space, scored('s', [...times(47, 1), ...times(3, 0)]), {
        experiment_name: 'second',
      });
      baseline = await completed(space, scored('s', times(50, 1)));
    });

    it.each<[Rule, boolean, number]>([
      [{ min_mean: 0.94 }, true, 0.94],
      [{ min_mean: 0.941 }, false, 0.94],
      [{ min_count: 50 }, true, 50],
      [{ min_count: 51 }, false, 50],
      [{ max_regression: 0.06 }, true, -0.06],
      [{ max_regression: 0.059 }, false, -0.06],
      [{ max_regression: 0 }, false, -0.06],
      // The lower bounds of the intervals were computed with scipy: 0.84 for the mean, -0.16 for the difference.
      [{ min_mean: 0.84, confident: true }, true, 0.84],
      [{ min_mean: 0.85, confident: true }, false, 0.84],
      [{ max_regression: 0.16, confident: true }, true, -0.16],
      [{ max_regression: 0.15, confident: true }, false, -0.16],
      [{ min_count: 50, confident: true }, true, 50],
    ])('checks %j, which passes: %s', async (rule, passed, actual) => {
      const checked = await check(candidate, rule, baseline);
      expect(checked).toMatchObject({ scorer: 's', rule: 0, status: passed ? 'passed' : 'failed' });
      expect(checked.actual).toBeCloseTo(actual, 12);
      const kind = Object.keys(rule)[0]!;
      expect(checked.kind).toBe(kind);
      expect(checked.bound).toBe(kind === 'max_regression' && rule[kind] !== 0 ? -Number(rule[kind]) : rule[kind]);
      expect(checked.confident).toBe(rule.confident === true && kind !== 'min_count');
    }); // oxfmt-ignore

    it('uses the confidence interval of the comparison', async () => {
      const checked = await check(candidate, { max_regression: 1, confident: true }, baseline);
      const { confidence_interval } = byScorer(await compared(space, candidate, baseline), 's');
      expect(checked.confidence_interval).toEqual(confidence_interval);
      expect(checked.estimate).toBeCloseTo(-0.06, 12);
    });

    it('checks every bound of every rule, and fails if one fails', async () => {
      const rules = [
        { scorer: 's', min_mean: 0.9, max_regression: 0.1, min_count: 10, min_coverage: 0, confident: null },
        { scorer: 's', min_mean: 0.99, min_coverage: 0 },
      ];
      const { body } = await send(candidate, { baseline_experiment_id: baseline, rules });
      expect(body).toMatchObject({
        passed: false,
        experiment_id: candidate,
        name: 'evaluation',
        experiment_name: 'second',
        experiment_status: 'running',
        baseline_experiment_id: baseline,
        is_truncated: false,
      });
      expect(body.checks.map((one) => [one.rule, one.kind, one.status])).toEqual([
        [0, 'min_mean', 'passed'],
        [0, 'max_regression', 'passed'],
        [0, 'min_count', 'passed'],
        [1, 'min_mean', 'failed'],
      ]);
      expect(
        (await send(candidate, { rules: rules.slice(1), baseline_experiment_id: null })).body.passed,
      ).toBe(false);
      expect(body.checks[3]!.reason).toBe('The mean of 50 cases is 0.94; at least 0.99 is required.');
    });

    it.each<[Rule, string]>([
      [{ min_mean: -1 }, NO_SCORES],
      [{ min_mean: -1, confident: true }, NO_SCORES],
      [{ min_count: 1 }, '0 cases have a score by this scorer; at least 1 is required.'],
      [
        { max_regression: 1 },
        'No case has a score by this scorer in both experiments.',
      ],
    ])('fails for a scorer without scores: %j', async (rule, reason) => {
      const checked = await check(candidate, { scorer: 'misspelt', ...rule }, baseline);
      expect(checked).toMatchObject({ status: 'failed', reason, actual: rule.min_count === undefined ? null : 0 });
    }); // oxfmt-ignore
  });

  it('tolerates rounding at a bound', async () => {
    const candidate = await experimentOf(space, scored('s', [0.7]));
    const baseline = await completed(space, scored('s', [0.8]));
    expect(0.7 - 0.8 < -0.1).toBe(true);
    expect((await check(candidate, { max_regression: 0.1 }, baseline)).status).toBe('passed');
    expect((await check(candidate, { max_regression: 0.0999 }, baseline)).status).toBe('failed');
  });

  it('has no interval for a single case', async () => {
    const one = await experimentOf(space, scored('s', [1]));
    const other = await completed(space, scored('s', [0]));
    expect(await check(one, { min_mean: 0.5, confident: true })).toMatchObject({
      status: 'failed',
      actual: null,
      estimate: 1,
      reason: 'The mean of 1 case is 1, but there are too few cases for a confidence interval; at least 0.5 is required.',
    });
    expect(await check(one, { max_regression: 0.5, confident: true }, other)).toMatchObject({ status: 'failed', actual: null, estimate: 1 });
    expect((await check(one, { max_regression: 0.5 }, other)).status).toBe('passed');
    // Forty trials of two cases count as two cases. One of the cases always fails.
    const trials = await experimentOf(
      space,
      Array.from({ length: 40 }, (_, i) => ({ case_id: `${i}`, trial_group: `${i % 2}`, scores: { s: i % 2 } })),
    );
    expect(await check(trials, { min_mean: 0.25, confident: true })).toMatchObject({ status: 'failed', actual: 0, estimate: 0.5 });
  }); // oxfmt-ignore

  it("uses the experiment's own baseline, and reports truncation", async () => {
    const { experiment_id: baseline } = await space.experiment();
    await fill(space, app.database, baseline, 10_001, `'{"s": 0.5}'::jsonb`);
    await space.finalize(baseline);
    const own = { baseline_experiment_id: baseline };
    const { experiment_id: candidate } = await space.experiment(own);
    await space.results(candidate, [{ case_id: 'case 1', scores: { s: 0.75 } }]);
    await space.finalize(candidate);
    const { body } = await send(candidate, { rules: [{ scorer: 's', max_regression: 0, min_coverage: 0 }] });
    expect(body).toMatchObject({
      passed: true,
      is_truncated: true,
      experiment_status: 'completed',
      ...own,
      checks: [{ actual: 0.25, bound: 0 }],
    });
    // Without a rule about regressions, the baseline is not read.
    const alone = await send(candidate, { rules: [{ scorer: 's', min_mean: 0.7 }] });
    expect(alone.body).toMatchObject({ passed: true, is_truncated: false, ...own });
  });

  describe('with an invalid request', () => {
    let candidate: string;
    beforeAll(async () => {
      candidate = await experimentOf(space, scored('s', [1]));
    });

    it.each<[unknown, string]>([
      [{}, '/rules'],
      [{ rules: [] }, '/rules'],
      [{ rules: [{ scorer: 's' }] }, '/rules/0'],
      [{ rules: [{ scorer: 's', min_mean: 0 }, { scorer: 's', min_mean: null, confident: true }] }, '/rules/1'],
      [{ rules: [{ min_mean: 0 }] }, '/rules/0/scorer'],
      [{ rules: [{ scorer: '', min_mean: 0 }] }, '/rules/0/scorer'],
      [{ rules: [{ scorer: 's', min_mean: '0' }] }, '/rules/0/min_mean'],
      [{ rules: [{ scorer: 's', max_regression: -0.1 }] }, '/rules/0/max_regression'],
      [{ rules: [{ scorer: 's', min_count: 0 }] }, '/rules/0/min_count'],
      [{ rules: [{ scorer: 's', min_count: 1.5 }] }, '/rules/0/min_count'],
      [{ rules: [{ scorer: 's', min_count: 10_001 }] }, '/rules/0/min_count'],
      [{ rules: [{ scorer: 's', min_mean: 0, confident: 1 }] }, '/rules/0/confident'],
      [{ rules: [{ scorer: 's', min_mean: 0, min_maen: 1 }] }, '/rules/0/min_maen'],
      [{ rules: [{ scorer: 's', min_mean: 0 }], baseline: 'exp_1' }, '/baseline'],
      [{ rules: [{ scorer: 's', min_coverage: 1.5 }] }, '/rules/0/min_coverage'],
      [{ rules: [{ scorer: 's', max_regressed_cases: -1 }] }, '/rules/0/max_regressed_cases'],
      [{ rules: [{ scorer: 's', max_case_regression: -1 }] }, '/rules/0/max_case_regression'],
      [{ rules: [{ scorer: null, min_coverage: 1 }] }, '/rules/0/scorer'],
      [{ rules: [{ max_error_rate: 0.1, min_mean: 0 }] }, '/rules/0/scorer'],
      [{ rules: [{ max_error_rate: 1.1 }] }, '/rules/0/max_error_rate'],
      [{ rules: [{ max_p95_duration_ms: -1 }] }, '/rules/0/max_p95_duration_ms'],
      [{ rules: [{ max_mean_cost_usd: '1' }] }, '/rules/0/max_mean_cost_usd'],
    ])('rejects %j, and names the member (400)', async (body, pointer) => {
      const answer = await send(candidate, body, { accept: 'application/xml' });
      expect([...outcome(answer), ...places(answer)]).toEqual([400, 'invalid_request', pointer]);
      expect(answer.headers.get('content-type')).toBe('application/problem+json');
    }); // oxfmt-ignore

    it('rejects more than 100 rules (400)', async () => {
      const rules = times(101, { scorer: 's', min_mean: 0, min_coverage: 0 });
      const answer = await send(candidate, { rules });
      expect([...outcome(answer), ...places(answer)]).toEqual([400, 'invalid_request', '/rules']);
      expect((await send(candidate, { rules: rules.slice(1) })).body.checks).toHaveLength(100);
    });

    it('rejects unknown and foreign experiments, and an experiment as its own baseline', async () => {
      const rules = [{ scorer: 's', min_mean: 0 }];
      for (const id of UNKNOWN_IDS) {
        expect(outcome(await send(encodeURIComponent(id), { rules }))).toEqual([404, 'not_found']);
        const named = await send(candidate, { rules, baseline_experiment_id: id });
        expect([...outcome(named), ...places(named)]).toEqual([404, 'not_found', '/baseline_experiment_id']);
      }
      const other = await EvaluationWorkspace.open(app);
      const foreign = await experimentOf(other, scored('s', [1]));
      expect(outcome(await send(foreign, { rules }))).toEqual([404, 'not_found']);
      expect(outcome(await send(candidate, { rules, baseline_experiment_id: foreign }))).toEqual([404, 'not_found']);
      const sibling = await space.sibling();
      expect(outcome(await sibling.post(`${EXPERIMENTS}/${candidate}/gate`, { rules }))).toEqual([404, 'not_found']);
      const itself = await send(candidate, { rules, baseline_experiment_id: candidate });
      expect([...outcome(itself), ...places(itself)]).toEqual([400, 'invalid_request', '/baseline_experiment_id']);
      const runtime = await space.organization.as('runtime');
      expect(outcome(await runtime.post(`${EXPERIMENTS}/${candidate}/gate`, { rules }))).toEqual([403, 'access_denied']);
    }); // oxfmt-ignore
  });
});
