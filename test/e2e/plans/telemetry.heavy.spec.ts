import { inEach, MANY, rarely } from './row-copies';
import { describeLists, type RowCopies, type Seeds } from './lists.harness';

const TRACE_ID = `lpad(to_hex(n), 32, '0')`;
const EARLIER = (column: string): string => `seed.${column} - n * interval '1 s'`;
const SINCE = ['2020-01-01T00:00:00Z'];
const UNTIL = ['2100-01-01T00:00:00Z'];

const copiesOf = (seeds: Seeds): RowCopies[] => [
  ...inEach(seeds, 'traces', 'trace_id', {
    trace_id: TRACE_ID, trace_no: "nextval('trace_numbers')", started_at: EARLIER('started_at'), ended_at: EARLIER('ended_at'),
    error_count: rarely('1', '0'), root_name: rarely("'rare'", "'common'"), service_name: rarely("'rare'", "'common'"),
    agent_version: rarely("'rare'", "'common'"), session_id: rarely("'ses ' || n", "'large'"), input: "to_json('question ' || n)",
  }),
  ...inEach(seeds, 'trace_models', 'trace_id', { trace_id: TRACE_ID, model: rarely("'rare'", "'common'") }),
  ...inEach(seeds, 'trace_sessions', 'session_id', { session_id: "'ses ' || n", last_started_at: EARLIER('last_started_at') }),
  ...inEach(seeds, 'spans', 'workspace_id', { span_id: 'n', started_at: `seed.started_at + n * interval '1 ms'` }).map((copies) => ({
    ...copies, where: `${copies.where} AND seed.name LIKE '% span'`,
  })),
  ...inEach(seeds, 'log_records', 'workspace_id', {
    log_no: 'n + 1000000', logged_at: EARLIER('logged_at'), severity_number: rarely('17', '9'), service_name: rarely("'rare'", "'common'"),
    trace_id: rarely(`'${seeds.ids.trace_id}'::uuid`, `md5(n::text)::uuid`),
  }),
  ...inEach(seeds, 'metric_points', 'workspace_id', {
    point_no: 'n + 1000000', measured_at: EARLIER('measured_at'), name: rarely("'rare'", "'common'"), service_name: rarely("'rare'", "'common'"),
  }),
]; // oxfmt-ignore

describeLists(['/telemetry/'], (seeds) => {
  const { ids, owner: by } = seeds;
  const times = { since: SINCE, until: UNTIL };
  const trace = `/telemetry/v1/traces/${ids.trace_id}`;
  return {
    copies: copiesOf(seeds),
    requests: {
      lists: {
        listTraces: {
          path: '/telemetry/v1/traces', by,
          filters: { ...times, root_name: ['common', 'rare'], service_name: ['common', 'rare'], status: ['error'], session_id: ['large', 'ses 7'], user_id: ['nobody'], environment: ['nowhere'], prompt_name: ['none'] },
          searches: {
            status: ['ok'], model: ['common', 'rare'], agent_version: ['common', 'rare'], attribute: ['a:b'], q: ['nowhere'], tag: ['none'], prompt_version: ['1'],
            min_duration_ms: ['1'], max_duration_ms: ['1'], score: ['first:gte:1'], score_source: [],
          },
        },
        listSpans: { path: `${trace}/spans`, by },
        listSessions: {
          path: '/telemetry/v1/sessions', by, filters: times,
          searches: { user_id: ['nobody'], environment: ['nowhere'], prompt_name: ['none'], prompt_version: ['1'], tag: ['none'] },
        },
        listSessionTraces: {
          path: '/telemetry/v1/sessions/large/traces', by, filters: times,
          searches: { user_id: ['nobody'], environment: ['nowhere'], prompt_name: ['none'], prompt_version: ['1'], tag: ['none'] },
        },
        listSessionTranscript: { path: '/telemetry/v1/sessions/large/transcript', by, filters: times },
        listLogs: {
          path: '/telemetry/v1/logs', by,
          filters: { ...times, service_name: ['common', 'rare'], severity: ['error'], trace_id: [ids.trace_id!] },
          searches: { q: ['nowhere'], attribute: ['a:b'] },
        },
        listMetrics: {
          path: '/telemetry/v1/metrics', by,
          filters: { ...times, name: ['common', 'rare'], service_name: ['common', 'rare'] },
          searches: { type: ['gauge', 'sum'], attribute: ['a:b'] },
        },
      },
      others: {
        exportSpans: { path: `${trace}/spans/export`, by, rows: 10 * MANY },
        getTrace: { path: trace, by, rows: 10 * MANY },
        queryTraceStats: { path: '/telemetry/v1/traces/stats/query', by, body: {}, rows: 10 * MANY },
        'queryTraceStats by model': { path: '/telemetry/v1/traces/stats/query', by, body: { group_by: ['model'] }, rows: 20 * MANY },
        querySpanStats: { path: '/telemetry/v1/spans/stats/query', by, body: {}, rows: 20 * MANY },
        'querySpanStats by model and user': {
          path: '/telemetry/v1/spans/stats/query', by, body: { group_by: ['model', 'user_id'] }, rows: 20 * MANY,
        },
      },
    },
  };
}); // oxfmt-ignore
