import type { SqlExecutor } from '#platform/db';
import { ownApp } from '#testing';
import { nodesOf, type Plan, planOf } from '../evaluation/plans.harness';
import { watchStatements } from '../evaluation/work.harness';
import { TRACES } from './otlp.harness';
import { addMissingSessions, ReadingWorkspace, SESSIONS } from './reading.fixture';

const SPANS_OF_BIG = 20_000;
const BIG = '1'.padStart(32, '0');

/** Reads must not slow down as more is stored. */
describe('reading among many traces and sessions', () => {
  const app = ownApp({ autovacuum: false });
  let space: ReadingWorkspace;

  beforeAll(async () => {
    space = await ReadingWorkspace.open(app);
    await app.database.query(
      `INSERT INTO traces (workspace_id, trace_id, started_at, ended_at, span_count, error_count, models, session_id,
                           root_name, service_name)
       SELECT CASE WHEN n % 2 = 0 THEN 'wsp_other_' || n % 80 ELSE $1 END, lpad(to_hex(n), 32, '0'),
              timestamptz '2026-11-20' + n * interval '1 second', timestamptz '2026-11-20' + n * interval '2 second',
              CASE WHEN n = 1 THEN ${SPANS_OF_BIG} ELSE 1 END, (n % 500 = 3)::int,
              ARRAY[CASE WHEN n % 500 = 1 THEN 'rare' ELSE 'usual ' || n / 2 % 8 END], 'ses ' || n / 20, 'root ' || n % 200,
              'service ' || n % 100
       FROM generate_series(1, 40000) n`,
      [space.id],
    );
    await app.database.query(
      `INSERT INTO trace_models (workspace_id, trace_id, model)
       SELECT workspace_id, trace_id, models[1] FROM traces`,
    );
    await app.database.query(
      `INSERT INTO spans (workspace_id, day, trace_no, span_id, name, kind, status_code, started_at, ended_at, source_id,
                          attributes)
       SELECT t.workspace_id, t.day, t.trace_no, n, 'step', 'client', 'unset', t.started_at + n * interval '1 ms',
              t.ended_at, '00000000-0000-0000-0000-000000000001', '{"a": "b"}'
       FROM traces t, generate_series(1, t.span_count) n`,
    );
    const SOURCE = `{"attributes": {}, "dropped_attributes_count": 0, "schema_url": ""}`;
    const LIBRARY = `{"name": "s", "version": "", "attributes": {}, "dropped_attributes_count": 0, "schema_url": ""}`;
    await app.database.query(
      `INSERT INTO span_sources (workspace_id, source_id, resource, scope)
       VALUES ($1, '00000000-0000-0000-0000-000000000001', $2, $3)`,
      [space.id, SOURCE, LIBRARY],
    );
    await addMissingSessions(app.database);
    await app.database.query('ANALYZE traces, trace_models, trace_sessions, spans');
  });

  /** Returns the plans of the statements for a path, as made in their transaction. */
  async function plans(path: string): Promise<Plan[]> {
    const made: Plan[] = [];
    const explain = async (query: SqlExecutor['query'], text: string, values: readonly unknown[]) => {
      if (!/\bFROM (traces|spans|trace_models|trace_sessions)\b/.test(text)) return;
      made.push(await planOf({ query, manager: app.database.manager }, text, values));
    };
    await watchStatements(app.database, explain, async () => {
      expect([path, (await space.viewer.get(path)).status]).toEqual([path, 200]);
    });
    expect(made).not.toEqual([]);
    return made;
  }

  const isSort = (plan: Plan): boolean => plan['Node Type'].includes('Sort');

  const paths: [string, string, string[]][] = [
    ['all traces', TRACES, ['traces_by_start']],
    ['the oldest traces', `${TRACES}?sort=started_at`, ['traces_by_start']],
    ['the traces of some minutes', `${TRACES}?since=2026-11-20T01:00:00Z&until=2026-11-20T01:05:00Z`, ['traces_by_start']],
    ['traces by session', `${TRACES}?session_id=ses%207`, ['traces_by_session']],
    ['traces by service', `${TRACES}?service_name=service%207`, ['traces_by_service']],
    ['traces by root', `${TRACES}?root_name=root%207`, ['traces_by_root']],
    ['traces with errors', `${TRACES}?status=error`, ['traces_in_error']],
    ['traces of a frequent model', `${TRACES}?model=usual%203`, ['trace_models_by_model', 'traces_by_start']],
    ['slow traces', `${TRACES}?min_duration_ms=39999000`, ['traces_by_start']],
    ['slow traces by root', `${TRACES}?root_name=root%207&min_duration_ms=39999000`, ['traces_by_root']],
    ['traces with an attribute', `${TRACES}?attribute=a:b`, ['traces_by_start', 'spans_by_start']],
    ['traces with a text', `${TRACES}?q=step`, ['traces_by_start', 'spans_by_start']],
    ['a trace', `${TRACES}/${BIG}`, ['traces_pkey', 'spans_by_start']],
    ['the traces of a session', `${SESSIONS}/ses%207/traces`, ['traces_by_session']],
  ]; // oxfmt-ignore
  it.each(paths)('uses indexes without sorting: %s', async (_, path, indexes) => {
    const nodes = (await plans(path)).flatMap(nodesOf);
    expect(nodes.filter((node) => node['Node Type'] === 'Seq Scan')).toEqual([]);
    expect(nodes.filter(isSort)).toEqual([]);
    const used = nodes.map((node) => node['Index Name'] ?? '');
    for (const index of indexes) expect(used.some((name) => isOf(name, index))).toBe(true);
  });

  it('finds traces of a rare model by index', async () => {
    const nodes = (await plans(`${TRACES}?model=rare`)).flatMap(nodesOf);
    expect(nodes.filter((node) => node['Node Type'] === 'Seq Scan')).toEqual([]);
    const used = new Set(nodes.flatMap((node) => node['Index Name'] ?? []));
    expect([...used].sort()).toEqual(['trace_models_by_model', 'traces_pkey']);
  });

  it('lists sessions by their last trace', async () => {
    for (const query of ['', '?since=2026-11-20T01:00:00Z', '?sort=last_started_at&offset=7']) {
      const made = await plans(SESSIONS + query);
      const nodes = made.flatMap(nodesOf);
      expect(nodes.filter((node) => node['Node Type'] === 'Seq Scan')).toEqual([]);
      const used = new Set(nodes.flatMap((node) => node['Index Name'] ?? []));
      expect([...used]).toEqual(expect.arrayContaining(['trace_sessions_by_start', 'traces_by_session']));
      const listed = made
        .map(nodesOf)
        .filter((of) => of.some((node) => node['Relation Name'] === 'trace_sessions'));
      expect(listed.flat().filter(isSort)).toEqual([]);
    }
  });

  it('reads the traces of a session once', async () => {
    const nodes = (await plans(`${SESSIONS}/ses%207`)).flatMap(nodesOf);
    expect(nodes.filter((node) => node['Relation Name'] === 'traces')).toHaveLength(2);
  });

  it('reads the spans of a trace in one partition', async () => {
    for (const rest of ['', '/spans', '/spans/export']) {
      const read = (await plans(`${TRACES}/${BIG}${rest}`))
        .flatMap(nodesOf)
        .flatMap((node) => node['Relation Name'] ?? []);
      const partitions = new Set(read.filter((name) => name.startsWith('spans_2')));
      expect(partitions.size).toBe(1);
    }
  });

  /** Each partition has its own indexes, with names that PostgreSQL generates. */
  const isOf = (name: string, index: string): boolean =>
    name === index ||
    (index === 'spans_by_start' && /^spans_\d+_trace_no_started_at_span_id_idx$/.test(name));
});
