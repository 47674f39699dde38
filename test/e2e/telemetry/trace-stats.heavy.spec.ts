import { ownApp } from '#testing';
import { nodesOf, type Plan, planOf } from '../evaluation/plans.harness';
import { watchStatements } from '../evaluation/work.harness';
import { ReadingWorkspace } from './reading.fixture';

const PATH = '/telemetry/v1/traces/stats/query';

/** A period that starts at SPAN_START, which is midnight. */
const WEEK = { since: '2026-11-20T00:00:00Z', until: '2026-11-27T00:00:00Z' };

describe('statistics of many traces, in a table without statistics', () => {
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
                timestamptz '2026-11-20' + n * interval '10 second', timestamptz '2026-11-21', 1, 0,
                ARRAY['m' || n % 3], 'ses ' || n / 20, 'root'
         FROM generate_series(1, ${TRACES * 4}) n RETURNING *)
       INSERT INTO trace_models (workspace_id, trace_id, model, input_tokens)
       SELECT workspace_id, trace_id, models[1], 1 FROM filled`,
      [many.id],
    );
  });

  async function plan(body: object): Promise<Plan[]> {
    const made: Plan[] = [];
    await watchStatements(
      app.database,
      async (query, text, values) => {
        if (/FROM traces/.test(text))
          made.push(await planOf({ query, manager: app.database.manager }, text, values));
      },
      async () => {
        expect((await many.viewer.post(PATH, { ...WEEK, ...body })).status).toBe(200);
      },
    );
    expect(made).toHaveLength(1);
    return made.flatMap(nodesOf);
  }

  it('read only the traces of the time range', async () => {
    const nodes = await plan({ since: '2026-11-20T10:00:00Z', until: '2026-11-20T11:00:00Z' });
    expect(nodes.filter((node) => node['Node Type'] === 'Seq Scan')).toEqual([]);
    expect(nodes.map((node) => node['Index Name'])).toContain('traces_by_start');
  });

  it('look up the models of each trace', async () => {
    const body = { since: '2026-11-20T10:00:00Z', until: '2026-11-20T11:00:00Z', group_by: ['model'] };
    const nodes = await plan(body);
    expect(nodes.filter((node) => node['Node Type'] === 'Seq Scan')).toEqual([]);
    expect(nodes.map((node) => node['Index Name'])).toContain('trace_models_pkey');
  });

  it('read only the traces of a session, once the table has statistics', async () => {
    await app.database.query('ANALYZE traces');
    const nodes = await plan({ filters: [{ field: 'session_id', op: 'eq', value: 'ses 7' }] });
    expect(nodes.map((node) => node['Index Name'])).toContain('traces_by_session');
  });
});
