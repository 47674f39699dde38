import { type Scope, workspaceScope } from '#platform/auth';
import { Database, readWithin, type SqlExecutor, type Statement } from '#platform/db';
import { ownApp, newOrganization } from '#testing';
import type { LogListQueryDto } from '../../../src/telemetry/logs/log.dto';
import { LogListRepository } from '../../../src/telemetry/logs/log-list.repository';
import { MessageLogRepository } from '../../../src/telemetry/traces/message-log.repository';
import type { MetricListQueryDto } from '../../../src/telemetry/metrics/metric.dto';
import { MetricListRepository } from '../../../src/telemetry/metrics/metric-list.repository';

interface Plan {
  'Node Type': string;
  'Index Name'?: string;
  'Relation Name'?: string;
  Plans?: Plan[];
}

const RECORDS = 20_000;
const DAY = 86_400_000;

/** The days of the filled partitions: yesterday and today. */
const DAYS = [1, 0];

/** Returns the UTC day this many days ago. */
const dayOf = (back: number): string => new Date(Date.now() - back * DAY).toISOString().slice(0, 10);

const partitionOf = (table: string, back: number): string => `${table}_${dayOf(back).replaceAll('-', '')}`;

describe.each(['with', 'without'])('a workspace %s statistics', (statistics) => {
  const app = ownApp({ autovacuum: false });
  let scope: Scope;

  beforeAll(async () => {
    const organization = await newOrganization(app);
    scope = workspaceScope(organization.orgId, organization.workspaceId, 'test', new Set());
    for (const table of ['log_records', 'metric_points']) {
      for (const back of DAYS) await makePartition(table, back);
    }
    const of = async (workspaceId: string): Promise<void> => {
      for (const back of DAYS) await fill(workspaceId, dayOf(back));
    };
    await of(statistics === 'without' ? 'wsp_other' : scope.workspaceId);
    await app.database.query('ANALYZE log_records, metric_points, span_sources');
    if (statistics === 'without') await of(scope.workspaceId);
  });

  async function makePartition(table: string, back: number): Promise<void> {
    await app.database.query(
      `CREATE TABLE IF NOT EXISTS ${partitionOf(table, back)} PARTITION OF ${table}
       FOR VALUES FROM ('${dayOf(back)}') TO ('${dayOf(back - 1)}') WITH (autovacuum_enabled = false)`,
    );
  }

  /** Fills a day. One in a hundred records has another service, is severe, and has its own trace and another metric. */
  async function fill(workspaceId: string, day: string): Promise<void> {
    const common = `timestamptz '2026-11-20' + n * interval '1 second', 0, gen_random_uuid(), $2::date,
      CASE WHEN n % 100 = 0 THEN 'bank' ELSE 'shop' END, '{}'`;
    await app.database.query(
      `INSERT INTO log_records (workspace_id, logged_at, flags, source_id, day, service_name, attributes, is_timed,
                                severity_number, trace_id, event_name)
       SELECT $1, ${common}, true, CASE WHEN n % 100 = 0 THEN 17 ELSE 9 END,
              CASE WHEN n % 100 = 0 THEN lpad(to_hex(n % 1000), 32, '0')::uuid END,
              CASE WHEN n % 2000 = 100 THEN 'gen_ai.choice' END
       FROM generate_series(1, ${RECORDS}) n`,
      [workspaceId, day],
    );
    await app.database.query(
      `INSERT INTO metric_points (workspace_id, measured_at, flags, source_id, day, service_name, attributes, name, type)
       SELECT $1, ${common}, CASE WHEN n % 100 = 0 THEN 'rare' ELSE 'calls' END, 'gauge'
       FROM generate_series(1, ${RECORDS}) n`,
      [workspaceId, day],
    );
  }

  /** Returns PostgreSQL's plans for the statements of a list. */
  async function plansOf(list: (on: SqlExecutor) => Promise<unknown>): Promise<Plan[][]> {
    const plans: Plan[] = [];
    await readWithin(app.get(Database), performance.now() + 60_000, (reads) => {
      const query = async (statement: Statement, parameters?: readonly unknown[]) => {
        const { text, values = parameters } =
          typeof statement === 'string' ? { text: statement, values: undefined } : statement;
        // counts of a workspace may use any index
        if (/^\s*SELECT (?!count)/.test(text)) {
          const [row] = await reads.query<any>(`EXPLAIN (FORMAT JSON) ${text}`, values);
          plans.push(row['QUERY PLAN'].parse?.()[0].Plan ?? row['QUERY PLAN'][0].Plan);
        }
        return reads.query<any>(text, values);
      };
      return list({ manager: reads.manager, query } as SqlExecutor);
    });
    const nodesIn = (plan: Plan): Plan[] => [plan, ...(plan.Plans ?? []).flatMap(nodesIn)];
    return plans.map(nodesIn);
  }

  /** Returns the names of the partitions' indexes in a plan, without their days. */
  const indexesOf = (nodes: readonly Plan[]): string[] => {
    const names = nodes.flatMap((node) => node['Index Name'] ?? []);
    const days = names.filter((name) => /^(log_records|metric_points)_/.test(name));
    return [...new Set(days.map((name) => name.replace(/_\d{8}_/, ' ')))].sort();
  };

  const logs = (query: LogListQueryDto) => (on: SqlExecutor) =>
    new LogListRepository(on).list(scope, { ...query, limit: 20 });
  const points = (query: MetricListQueryDto) => (on: SqlExecutor) =>
    new MetricListRepository(on).list(scope, { ...query, limit: 20 });

  it.each([
    ['all', logs({}), 'log_records workspace_id_logged_at_log_no_idx'],
    ['a service', logs({ service_name: 'bank' }), 'log_records workspace_id_service_name_logged_at_lo_idx'],
    [
      'a trace',
      logs({ trace_id: `${'0'.repeat(29)}064` }),
      'log_records workspace_id_trace_id_logged_at_log_no_idx',
    ],
    ['severe records', logs({ severity: '17' }), 'log_records workspace_id_logged_at_log_no_idx1'],
    ['an attribute', logs({ attribute: ['a:b'] }), 'log_records workspace_id_logged_at_log_no_idx'],
    ['a text', logs({ q: 'nothing' }), 'log_records workspace_id_logged_at_log_no_idx'],
    ['points', points({}), 'metric_points workspace_id_measured_at_point_no_idx'],
    ['a metric', points({ name: 'rare' }), 'metric_points workspace_id_left_measured_at_point__idx'],
    [
      'a type of a service',
      points({ service_name: 'bank', type: 'gauge', attribute: ['unit:s'] }),
      'metric_points workspace_id_service_name_measured_a_idx',
    ],
  ] as const)('lists %s by an index in each partition, without sorting', async (_, list, index) => {
    const plans = await plansOf(list);
    const nodes = plans.flat();
    const tables = nodes.filter((node) => /^(log_records|metric_points)/.test(node['Relation Name'] ?? ''));
    expect(tables.filter((node) => node['Node Type'] === 'Seq Scan')).toEqual([]);
    const pages = plans.filter((plan) => plan.some((node) => node['Node Type'] === 'Merge Append'));
    expect(pages.length).toBeGreaterThan(0);
    expect(indexesOf(pages.flat())).toEqual([index]);
  });

  it('finds the messages of a trace by their own index in each partition', async () => {
    const trace = { trace_id: `${'0'.repeat(29)}064`, day: dayOf(0), trace_no: 1, span_count: 1 };
    const plans = await plansOf((on) => new MessageLogRepository(on).findByTraces(scope, [trace], 1_000_000));
    expect(plans.flat().map((node) => node['Node Type'])).not.toContain('Seq Scan');
    expect(indexesOf(plans.flat())).toEqual(['log_records workspace_id_trace_id_logged_at_log_n_idx1']);
  });

  it.each([
    ['log_records', logs({})],
    ['metric_points', points({})],
  ] as const)('reads the %s of a page only from their partitions', async (table, list) => {
    for (let back = DAYS.length; back < DAYS.length + 50; back++) await makePartition(table, back);
    const plans = await plansOf(list);
    const reads = plans.filter((plan) => plan.some((node) => node['Node Type'] === 'Function Scan'));
    expect(reads).toHaveLength(1);
    const read = reads[0]!.flatMap((node) => node['Relation Name'] ?? []);
    expect(read.sort()).toEqual(DAYS.map((back) => partitionOf(table, back)));
  });
});
