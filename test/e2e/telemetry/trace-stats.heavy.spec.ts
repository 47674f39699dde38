import { ownApp } from '#testing';
import { nodesOf, type Plan, planOf } from '../evaluation/plans.harness';
import { watchStatements } from '../evaluation/work.harness';
import { ReadingWorkspace } from './reading.fixture';

const TRACES_PATH = '/telemetry/v1/traces/stats/query';
const SPANS_PATH = '/telemetry/v1/spans/stats/query';

/** A period that starts at SPAN_START, which is midnight. */
const WEEK = { since: '2026-11-20T00:00:00Z', until: '2026-11-27T00:00:00Z' };
const HOUR = { since: '2026-11-20T10:00:00Z', until: '2026-11-20T11:00:00Z' };

describe('statistics of many traces, in tables without statistics', () => {
  const app = ownApp({ autovacuum: false });
  const TRACES = 10_000;
  let many: ReadingWorkspace;

  beforeAll(async () => {
    many = await ReadingWorkspace.open(app);
    await app.database.query(
      `WITH filled AS (
         INSERT INTO traces (workspace_id, trace_id, started_at, ended_at, span_count, error_count, models, session_id,
                             root_name)
         SELECT CASE WHEN n % 4 = 0 THEN $1 ELSE 'wsp_other_' || n % 80 END, md5($1 || n),
                timestamptz '2026-11-20' + n * interval '10 second', timestamptz '2026-11-21', 2, 0,
                ARRAY['m' || n % 3], 'ses ' || n / 20, 'root'
         FROM generate_series(1, ${TRACES * 4}) n RETURNING *)
       INSERT INTO spans (workspace_id, day, trace_no, span_id, parent_span_id, started_at, ended_at, source_id, name, kind,
                          status_code, operation, model, attributes)
       SELECT workspace_id, day, trace_no, i, CASE WHEN i > 1 THEN 1 END, started_at, ended_at,
              '00000000-0000-0000-0000-000000000000', 'span', 'client', 'unset', CASE WHEN i > 1 THEN 'chat' END,
              CASE WHEN i > 1 THEN models[1] END, '{}'
       FROM filled, generate_series(1, 2) i`,
      [many.id],
    );
  });

  /** Returns the plans of the statements of a query, and the number of traces or spans that it counted. */
  async function plansOf(path: string, body: object): Promise<{ nodes: Plan[]; count: number }> {
    const made: Plan[] = [];
    let count = 0;
    await watchStatements(
      app.database,
      async (query, text, values) => {
        if (/FROM traces/.test(text))
          made.push(await planOf({ query, manager: app.database.manager }, text, values));
      },
      async () => {
        const metrics = [{ measure: 'count', aggregation: 'count' }];
        const answer = await many.viewer.post(path, { ...WEEK, ...body, metrics });
        expect(answer.status).toBe(200);
        for (const { values } of answer.body.rows) count += values['count.count'];
      },
    );
    expect(made.length).toBeGreaterThan(0);
    return { nodes: made.flatMap(nodesOf), count };
  }

  const indexesOf = (nodes: Plan[]) => nodes.flatMap((node) => node['Index Name'] ?? []);
  const scansOfWholeTables = (nodes: Plan[]) => nodes.filter((node) => node['Node Type'] === 'Seq Scan');
  const ofSession = { filters: [{ field: 'session_id', op: 'eq', value: 'ses 7' }] };

  it('read only the traces of the time range', async () => {
    const { nodes, count } = await plansOf(TRACES_PATH, HOUR);
    expect(count).toBe(90);
    expect(scansOfWholeTables(nodes)).toEqual([]);
    expect(indexesOf(nodes)).toContain('traces_by_start');
  });

  it.each<[string, string, object, number]>([
    ['traces by model', TRACES_PATH, { group_by: ['model'] }, 90],
    ['traces of a model', TRACES_PATH, { group_by: ['model'], filters: [{ field: 'model', op: 'eq', value: 'm1' }] }, 30],
    ['spans', SPANS_PATH, {}, 180],
    ['spans by model', SPANS_PATH, { group_by: ['model'] }, 180],
    ['spans by user and hour', SPANS_PATH, { group_by: ['user_id', 'hour'] }, 180],
    ['spans of an operation', SPANS_PATH, { filters: [{ field: 'operation', op: 'eq', value: 'chat' }] }, 90],
  ])('look up the spans of each trace of the time range: %s', async (_, path, body, expected) => {
    const { nodes, count } = await plansOf(path, { ...HOUR, ...body });
    expect(count).toBe(expected);
    expect(scansOfWholeTables(nodes)).toEqual([]);
    const indexes = indexesOf(nodes);
    expect(indexes).toContain('traces_by_start');
    expect(indexes.some((name) => /^spans_\d{8}_(pkey|trace_no_started_at_span_id_idx)$/.test(name))).toBe(true);
  }); // oxfmt-ignore

  it.each([
    ['traces', TRACES_PATH],
    ['spans', SPANS_PATH],
  ])('read only the %s of a session, once the table has statistics', async (_, path) => {
    await app.database.query('ANALYZE traces');
    const { nodes } = await plansOf(path, ofSession);
    expect(scansOfWholeTables(nodes)).toEqual([]);
    expect(indexesOf(nodes)).toContain('traces_by_session');
  });
});
