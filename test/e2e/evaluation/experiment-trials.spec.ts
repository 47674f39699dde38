import { sharedApp } from '#testing';
import type { ExperimentTrialPageDto } from '../../../src/evaluation/experiments/trials/experiment-trial.dto';
import { EvaluationWorkspace, outcome, places } from './evaluation.harness';

const EXPERIMENTS = '/eval/v1/experiments';

describe('the trials of an experiment', () => {
  const app = sharedApp();
  let space: EvaluationWorkspace;
  let experimentId: string;

  /** Results by case: a score, null, or an error. */
  const RESULTS: Record<string, (number | null | 'error')[]> = {
    a: [1, 1, 0.5],
    b: [0, 'error', null],
    c: [1, 1, 1],
  };

  beforeAll(async () => {
    space = await EvaluationWorkspace.open(app);
    const { dataset_id } = await space.dataset();
    const ids = new Map<string, string>();
    for (const external_id of ['a', 'b', 'c', 'd']) {
      ids.set(external_id, (await space.record(dataset_id, { external_id })).dataset_record_id);
    }
    ({ experiment_id: experimentId } = await space.experiment({ dataset_id, trials: 3 }));
    const items = Object.entries(RESULTS).flatMap(([id, results]) =>
      results.map((result, i) => ({
        case_id: `${id}#${i + 1}`,
        dataset_record_id: ids.get(id),
        // a score of a result with an error does not pass either
        ...(result === 'error' ? { error: 'down', scores: { s: 1 } } : { scores: { s: result } }),
      })),
    );
    expect(await space.results(experimentId, items)).toEqual(items.map(() => 201));
  });

  const read = (query: string, id = experimentId) =>
    space.viewer.get<ExperimentTrialPageDto>(`${EXPERIMENTS}/${id}/trials?${query}`);

  it('are counted by case, with pass@k and pass^k over the cases that have k of them', async () => {
    const { status, body } = await read('scorer=s');
    expect([status, body]).toEqual([
      200,
      {
        items: [
          { case_id: 'a', n: 3, passed: 2, mean: 2.5 / 3 },
          { case_id: 'b', n: 2, passed: 0, mean: 0.5 },
          { case_id: 'c', n: 3, passed: 3, mean: 1 },
        ],
        page: { limit: 50, offset: 0, total: 3, next_cursor: null },
        summary: {
          k: 3,
          threshold: 1,
          pass_at_k: 1,
          pass_at_k_interval: { lower: 1, upper: 1 },
          pass_hat_k: 0.5,
          pass_hat_k_interval: { lower: 0, upper: 1 },
          case_count: 2,
          left_out_count: 2,
          scorer_version: null,
          reason: null,
          is_truncated: false,
        },
      },
    ]);
    const rates = async (query: string) => {
      const { pass_at_k, pass_hat_k, left_out_count } = (await read(`scorer=s&${query}`)).body.summary;
      return [pass_at_k!, pass_hat_k!, left_out_count].map((one) => Number(one.toFixed(12)));
    };
    const rounded = (...values: number[]) => values.map((one) => Number(one.toFixed(12)));
    expect(await rates('k=2')).toEqual(rounded(2 / 3, 4 / 9, 1));
    expect(await rates('k=1')).toEqual(rounded(5 / 9, 5 / 9, 1));
    expect(await rates('k=1&threshold=0.5')).toEqual(rounded(2 / 3, 2 / 3, 1));
    expect((await read('scorer=s&k=4')).body.summary).toMatchObject({ pass_at_k: null, left_out_count: 4 });
  });

  it('are paged', async () => {
    const first = (await read('scorer=s&limit=2')).body;
    expect([first.items.map((one) => one.case_id), first.page.total]).toEqual([['a', 'b'], 3]);
    const cursor = first.page.next_cursor;
    const second = (await read(`scorer=s&limit=2&cursor=${cursor}`)).body;
    expect([second.items.map((one) => one.case_id), second.page.next_cursor]).toEqual([['c'], null]);
    expect((await read('scorer=s&limit=0')).body).toMatchObject({
      items: [],
      page: { total: 3, next_cursor: null },
    });
    const faults: [string, string][] = [
      [`scorer=s&k=2&cursor=${cursor}`, 'cursor'],
      ['scorer=s&cursor=x', 'cursor'],
      ['scorer=misspelt', 'scorer'],
      ['k=1', 'scorer'],
      ['scorer=s&k=0', 'k'],
      ['scorer=s&k=101', 'k'],
      ['scorer=s&k=1.5', 'k'],
      ['scorer=s&threshold=x', 'threshold'],
      ['scorer=s&threshold=1e999', 'threshold'],
    ];
    for (const [query, parameter] of faults) {
      const answer = await read(query);
      expect([query, ...outcome(answer), places(answer)]).toEqual([query, 400, 'invalid_query', [parameter]]);
    }
    expect(outcome(await read('scorer=s', 'exp_00000000000000000000000000'))).toEqual([404, 'not_found']);
    const sibling = await space.sibling();
    expect(outcome(await sibling.get(`${EXPERIMENTS}/${experimentId}/trials?scorer=s`))).toEqual([
      404,
      'not_found',
    ]);
  });

  it('are grouped by `trial_group`, else by `case_id`, without a dataset', async () => {
    const { experiment_id } = await space.experiment();
    const result = (case_id: string, trial_group: string | null, s: number) => ({
      case_id,
      trial_group,
      scores: { s },
    });
    await space.results(experiment_id, [result('1', 'q', 1), result('2', 'q', 0), result('3', null, 1)]);
    const { items, summary } = (await read('scorer=s&k=2', experiment_id)).body;
    expect(items).toEqual([
      { case_id: '3', n: 1, passed: 1, mean: 1 },
      { case_id: 'q', n: 2, passed: 1, mean: 0.5 },
    ]);
    expect(summary).toMatchObject({ pass_at_k: 1, pass_hat_k: 0, case_count: 1, left_out_count: 1 });
    expect((await read('scorer=s', experiment_id)).body.summary).toMatchObject({ k: 1, case_count: 2 });
  });

  it('have no estimates if versions of the scorer are mixed', async () => {
    const made = await space.editor.post<{ scorer_id: string }>('/eval/v1/scorers', {
      workspace_id: space.id,
      name: 'versions',
      scorer_kind: 'code',
      definition: { checks: [{ type: 'equals' }] },
    });
    const { scorer_id } = made.body;
    const checks = [{ type: 'contains' }];
    await space.editor.patch(`/eval/v1/scorers/${scorer_id}`, { definition: { checks } });
    const { experiment_id } = await space.experiment();
    for (const scorer_version of [1, 2]) {
      await space.result(experiment_id, { scores: { versions: { score: 1, scorer_id, scorer_version } } });
    }
    const { summary } = (await read('scorer=versions', experiment_id)).body;
    expect(summary).toMatchObject({ pass_at_k: null, pass_hat_k: null, scorer_version: 2 });
    expect(summary.reason).toContain('mixes versions');
  });

  it('are checked by a gate', async () => {
    type Check = { kind: string; status: string; actual: number | null; reason: string };
    const check = async (...rules: object[]) => {
      const answer = await space.editor.post<{ checks: Check[] }>(`${EXPERIMENTS}/${experimentId}/gate`, {
        rules: rules.map((rule) => ({ scorer: 's', min_coverage: 0, ...rule })),
      });
      expect(answer.status).toBe(200);
      return answer.body.checks.map(({ kind, status, actual, reason }) => [kind, status, actual, reason]);
    };
    expect(
      await check(
        { min_pass_at_k: { k: 3, value: 1 }, min_pass_hat_k: { k: 3, value: 0.6 } },
        { min_pass_hat_k: { k: 1, value: 0.6, threshold: 0.5 }, confident: true },
        { min_pass_at_k: { k: 4, value: 0 } },
        { scorer: 'misspelt', min_pass_at_k: { k: 1, value: 0 } },
      ),
    ).toEqual([
      ['min_pass_at_k', 'passed', 1, 'pass@3 of 2 cases is 1, without 2 cases with fewer than 3 trials; at least 1 is required.'],
      ['min_pass_hat_k', 'failed', 0.5, 'pass^3 of 2 cases is 0.5, without 2 cases with fewer than 3 trials; at least 0.6 is required.'],
      ['min_pass_hat_k', 'failed', 0, 'pass^1 of 3 cases by scores of at least 0.5 is 0.666667 (at least 0 with 95% confidence), without 1 case with fewer than 1 trial; at least 0.6 is required.'],
      ['min_pass_at_k', 'failed', null, 'No case has 4 trials with a score by this scorer or an error, so pass@4 is unknown; at least 0 is required.'],
      ['min_pass_at_k', 'failed', null, "The experiment has no scores by this scorer; a value of at least 0 is required. Check the scorer's name."],
    ]); // oxfmt-ignore
    const faults: [object, string][] = [
      [{ k: 0, value: 1 }, '/rules/0/min_pass_at_k/k'],
      [{ k: 101, value: 1 }, '/rules/0/min_pass_at_k/k'],
      [{ value: 1 }, '/rules/0/min_pass_at_k/k'],
      [{ k: 1, value: 1.1 }, '/rules/0/min_pass_at_k/value'],
      [{ k: 1 }, '/rules/0/min_pass_at_k/value'],
      [{ k: 1, value: 1, threshold: '1' }, '/rules/0/min_pass_at_k/threshold'],
    ];
    for (const [min_pass_at_k, pointer] of faults) {
      const answer = await space.editor.post(`${EXPERIMENTS}/${experimentId}/gate`, {
        rules: [{ scorer: 's', min_pass_at_k }],
      });
      expect([...outcome(answer), places(answer)]).toEqual([400, 'invalid_request', [pointer]]);
    }
    const unnamed = await space.editor.post(`${EXPERIMENTS}/${experimentId}/gate`, {
      rules: [{ min_pass_at_k: { k: 1, value: 1 } }],
    });
    expect([...outcome(unnamed), places(unnamed)]).toEqual([400, 'invalid_request', ['/rules/0/scorer']]);
  });
});
