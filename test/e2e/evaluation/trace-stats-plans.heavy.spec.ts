import type { RawJson } from '#platform/json';
import { ownApp } from '#testing';
import { EvaluationWorkspace } from './evaluation.harness';
import { statementsOf } from './work.harness';

interface Plan {
  'Node Type': string;
  'Relation Name'?: string;
  'Index Name'?: string;
  Plans?: Plan[];
}

describe('trace stats of an experiment among many', () => {
  const app = ownApp({ autovacuum: false });
  let space: EvaluationWorkspace;
  let path: string;

  beforeAll(async () => {
    space = await EvaluationWorkspace.open(app);
    const { experiment_id } = await space.experiment();
    path = `/eval/v1/experiments/${experiment_id}/traces/stats/query`;
    await app.database.query(
      `INSERT INTO traces (workspace_id, trace_id, started_at, ended_at, span_count, error_count, models, root_name)
       SELECT $1, md5(n::text), now(), now(), 1, 0, '{}', repeat('a name ', 10) FROM generate_series(1, 40000) n`,
      [space.id],
    );
    await app.database.query(
      `INSERT INTO trace_models (workspace_id, trace_id, model, input_tokens)
       SELECT $1, md5(n::text), 'm' || model, n FROM generate_series(1, 40000) n, generate_series(1, 2) model`,
      [space.id],
    );
    await app.database.query(
      `INSERT INTO spans (workspace_id, day, trace_no, span_id, started_at, ended_at, source_id, name, kind, status_code,
                          operation, model, input_tokens, attributes)
       SELECT workspace_id, day, trace_no, i, started_at, ended_at, '00000000-0000-0000-0000-000000000000', 'span', 'client',
              'unset', 'chat', 'm' || i, 1, '{}' FROM traces, generate_series(1, 2) i`,
    );
    await app.database.query(
      `INSERT INTO results (experiment_id, result_id, workspace_id, case_id, trace_id, created_at, updated_at, created_by)
       SELECT CASE WHEN n <= 200 THEN $1 ELSE 'exp_z' || n / 400 END, 'res_' || n, $2, 'case ' || n, md5(n::text),
              now(), now(), 'test' FROM generate_series(1, 40000) n`,
      [experiment_id, space.id],
    );
    await app.database.query('ANALYZE results, traces, trace_models, spans');
  });

  /** Returns the plans of a query: of the referenced traces, their models if it needs them, the statistics, and the coverage. */
  async function nodesOf(body: object, needsModels: boolean): Promise<Plan[]> {
    const sent = await statementsOf(app.database, async () => {
      const answer = await space.viewer.post(path, body);
      expect([answer.status, answer.body.coverage.traces_found]).toEqual([200, 200]);
    });
    const selects = sent.filter(({ text }) => /FROM results|JOIN traces/.test(text));
    expect(selects).toHaveLength(needsModels ? 4 : 3);
    const plans = await Promise.all(
      selects.map(async ({ text, values }) => {
        const [row] = await app.database.query<{ 'QUERY PLAN': RawJson }>(
          `EXPLAIN (FORMAT JSON) ${text}`,
          values,
        );
        return (row!['QUERY PLAN'].parse() as [{ Plan: Plan }])[0].Plan;
      }),
    );
    return plans.flatMap(allOf);
  }
  const allOf = (plan: Plan): Plan[] => [plan, ...(plan.Plans ?? []).flatMap(allOf)];

  it.each<[string, object, RegExp[]]>([
    ['without groups', {}, []],
    ['by case', { group_by: ['case_id'] }, []],
    ['by model', { group_by: ['model', 'tag'] }, [/^spans_\d{8}_/]],
    [
      'with a model filter',
      { filters: [{ field: 'model', op: 'eq', value: 'm1' }] },
      [/^trace_models_by_model$/],
    ],
  ])('scan no whole table: %s', async (title, body, more) => {
    const nodes = await nodesOf(body, title === 'by model');
    expect(nodes.filter((node) => node['Node Type'] === 'Seq Scan')).toEqual([]);
    const used = nodes.flatMap((node) => node['Index Name'] ?? []);
    // Any index of results is fine if it begins with the experiment.
    const ofResults = /^results_(pkey|case_id|record|by_update|by_duration)$/;
    for (const index of [/^traces_pkey$/, ofResults, ...more])
      expect(used).toContainEqual(expect.stringMatching(index));
  });
});
