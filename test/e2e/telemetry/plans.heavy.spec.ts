import { type SqlExecutor, type Statement } from '#platform/db';
import { ownApp, newOrganization, newTraceId, type TestOrganization } from '#testing';
import { workspaceScope, type Scope } from '#platform/auth';
import { SpanRepository } from '../../../src/telemetry/traces/span.repository';
import type { LocatedTrace } from '../../../src/telemetry/traces/trace.types';
import { TraceRepository } from '../../../src/telemetry/traces/trace.repository';

interface Plan {
  'Node Type': string;
  'Index Name'?: string;
  'Relation Name'?: string;
  Plans?: Plan[];
}

describe('reading among many traces', () => {
  const app = ownApp({ autovacuum: false });
  let organization: TestOrganization;
  let scope: Scope;
  let bigTrace: LocatedTrace;

  beforeAll(async () => {
    organization = await newOrganization(app);
    scope = workspaceScope(organization.orgId, organization.workspaceId, 'test', new Set());
    await app.database.query(
      `INSERT INTO traces (workspace_id, trace_id, started_at, ended_at, span_count, error_count, models, session_id)
       SELECT $1, lpad(to_hex(n), 32, '0'), timestamptz '2026-11-20' + n * interval '1 second',
              timestamptz '2026-11-20' + n * interval '2 second', 1, 0, '{}', 'ses_' || n / 10
       FROM generate_series(1, 20000) n`,
      [scope.workspaceId],
    );
    const [today] = await app.database.query<{ day: string }>(
      `INSERT INTO spans (workspace_id, day, trace_no, span_id, name, kind, status_code, started_at, ended_at,
                          source_id, attributes)
       SELECT $1, (now() AT TIME ZONE 'UTC')::date, CASE WHEN n % 2 = 0 THEN 0 ELSE n END, n, 'step',
              'client', 'unset', timestamptz '2026-11-20' + n * interval '1 second', timestamptz '2026-11-21',
              '00000000-0000-0000-0000-000000000001', '{}'
       FROM generate_series(1, 40000) n RETURNING day::text AS day`,
      [scope.workspaceId],
    );
    bigTrace = { trace_id: newTraceId(), trace_no: 0, day: today!.day, span_count: 20_000 };
    await app.database.query(
      `INSERT INTO span_sources SELECT $1, ('00000000-0000-0000-0000-' || lpad(n::text, 12, '0'))::uuid, '{}', '{}'
       FROM generate_series(1, 1000) n`,
      [scope.workspaceId],
    );
    await app.database.query('ANALYZE traces, spans, span_sources');
  });

  /** Returns the plans of the statements that `work` sends. */
  async function plansOf(work: (on: SqlExecutor) => Promise<unknown>): Promise<Plan[]> {
    const plans: Plan[] = [];
    const explaining: SqlExecutor = {
      manager: app.database.manager,
      query: async <Row>(statement: Statement, parameters?: readonly unknown[]) => {
        const { text, values = parameters } =
          typeof statement === 'string' ? { text: statement, values: undefined } : statement;
        if (text.startsWith('SET LOCAL')) return []; // the plans are good even without it
        const [row] = await app.database.query<{ 'QUERY PLAN': { parse(): [{ Plan: Plan }] } }>(
          `EXPLAIN (FORMAT JSON) ${text}`,
          values,
        );
        plans.push(row!['QUERY PLAN'].parse()[0].Plan);
        return app.database.query<Row>(statement, parameters);
      },
    };
    await work(explaining);
    return plans;
  }

  const nodesOf = (plan: Plan): Plan[] => [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];

  async function expectIndexes(
    work: (on: SqlExecutor) => Promise<unknown>,
    ...indexes: string[]
  ): Promise<Plan[]> {
    const nodes = (await plansOf(work)).flatMap(nodesOf);
    expect(nodes.filter((node) => node['Node Type'] === 'Seq Scan')).toEqual([]);
    const used = nodes.flatMap((node) => node['Index Name']?.replace(/^spans_\d{8}_/, 'spans_today_') ?? []);
    expect([...new Set(used)].sort()).toEqual(indexes);
    return nodes;
  }

  const spans = (on: SqlExecutor): SpanRepository => new SpanRepository(on as never);
  const traces = (on: SqlExecutor): TraceRepository => new TraceRepository(on as never);

  it('takes the same effort for every page of spans', async () => {
    let cursor: string | undefined;
    for (let page = 0; page < 3; page++) {
      const nodes = await expectIndexes(
        async (on) => {
          const spanPage = await spans(on).list(scope, bigTrace, { limit: 50, cursor });
          cursor = spanPage.page.next_cursor!;
        },
        'span_sources_pkey',
        'spans_today_pkey',
        'spans_today_trace_no_started_at_span_id_idx',
      );
      expect(nodes.filter((node) => node['Node Type'] === 'Sort')).toEqual([]);
    }
  });

  it('reads the first and the last spans of a trace in order, and stops at the limit', async () => {
    for (const fromEnd of [false, true]) {
      const nodes = await expectIndexes(
        (on) => spans(on).findByTraces(scope, [bigTrace], { limit: 100, maxBytes: 1_000_000, fromEnd }),
        'spans_today_trace_no_started_at_span_id_idx',
      );
      const [innermost] = nodes.filter((node) => node['Node Type'] === 'Limit').slice(-1);
      expect(innermost!.Plans!.map((node) => node['Node Type'])).not.toContain('Sort');
    }
  });

  it('finds traces by their ids', async () => {
    const ids = Array.from({ length: 100 }, (_, n) => n.toString(16).padStart(32, '0'));
    await expectIndexes((on) => traces(on).findMany(scope, ids, 1_000_000), 'traces_pkey');
    await expectIndexes((on) => traces(on).findBatch(scope, ids, 1_000_000), 'traces_pkey');
    await expectIndexes((on) => traces(on).summarize(scope, ids), 'traces_pkey');
    await expectIndexes((on) => traces(on).count(scope, ids), 'traces_pkey');
    await expectIndexes((on) => traces(on).refs(scope, { trace_ids: ids }, 100), 'traces_pkey');
    await expectIndexes(
      (on) => traces(on).countSelected(scope, { trace_ids: ids }, 'trace_id'),
      'traces_pkey',
    );
  });

  it('selects traces by session and by start', async () => {
    const since = new Date('2026-11-20T01:00:00Z');
    const inSession = await expectIndexes(
      (on) => traces(on).findBySessions(scope, ['ses_7', 'ses_8'], 100, 1_000_000),
      'traces_by_session',
    );
    const [ofEach] = inSession.filter((node) => node['Node Type'] === 'Limit');
    expect(ofEach!.Plans!.map((node) => node['Node Type'])).not.toContain('Sort');
    const ofSession = { session_ids: ['ses_7'] };
    await expectIndexes((on) => traces(on).refs(scope, ofSession, 100), 'traces_by_session');
    await expectIndexes((on) => traces(on).sessionRefs(scope, ofSession, 100), 'traces_by_session');
    await expectIndexes(
      (on) => traces(on).countSelected(scope, ofSession, 'session_id'),
      'traces_by_session',
    );
    const nodes = await expectIndexes((on) => traces(on).refs(scope, { since }, 100), 'traces_by_start');
    expect(nodes.filter((node) => node['Node Type'] === 'Sort')).toEqual([]);
    const times = { since, until: new Date('2026-11-20T01:10:00Z') };
    await expectIndexes((on) => traces(on).sessionRefs(scope, times, 100), 'traces_by_start');
    await expectIndexes((on) => traces(on).countSelected(scope, times, 'trace_id'), 'traces_by_start');
    await expectIndexes((on) => traces(on).countSelected(scope, times, 'session_id'), 'traces_by_start');
  });
});
