import { filteredBy, NOTHING, type Row } from './row.fixture';

const EVER = { since: '2020-01-01T00:00:00Z', until: '2100-01-01T00:00:00Z' };

/** Traces, sessions, logs and metrics. */
export const TELEMETRY_ROWS: Readonly<Record<string, Row>> = {
  'POST /telemetry/v1/traces': { level: 'own', bodies: () => [{ resourceSpans: [] }] },
  'GET /telemetry/v1/traces': {
    queries: (theirs) => [...filteredBy('session_id')(theirs), `model=${theirs.marker}-model`],
  },
  'GET /telemetry/v1/traces/{trace_id}': NOTHING,
  'DELETE /telemetry/v1/traces/{trace_id}': { queries: () => ['', 'force=true'] },
  // an unknown trace is remembered as deleted in the caller's workspace
  'POST /telemetry/v1/traces/delete': { level: 'own', bodies: () => [{}] },
  'POST /telemetry/v1/traces/exists': { bodies: (theirs) => [{ trace_ids: [theirs.trace_id] }] },
  'GET /telemetry/v1/traces/{trace_id}/spans': NOTHING,
  'GET /telemetry/v1/traces/{trace_id}/spans/export': NOTHING,
  'POST /telemetry/v1/traces/stats/query': {
    // the default times differ between requests
    bodies: () => [EVER, { ...EVER, group_by: ['session_id', 'model'] }],
  },
  'POST /telemetry/v1/spans/stats/query': {
    bodies: () => [EVER, { ...EVER, group_by: ['user_id', 'model'] }],
  },
  'GET /telemetry/v1/sessions': { queries: filteredBy() },
  'GET /telemetry/v1/sessions/{session_id}': NOTHING,
  'GET /telemetry/v1/sessions/{session_id}/traces': NOTHING,
  'GET /telemetry/v1/sessions/{session_id}/transcript': NOTHING,
  'POST /telemetry/v1/logs': { level: 'own', bodies: () => [{ resourceLogs: [] }] },
  'GET /telemetry/v1/logs': { queries: filteredBy() },
  'POST /telemetry/v1/metrics': { level: 'own', bodies: () => [{ resourceMetrics: [] }] },
  'GET /telemetry/v1/metrics': { queries: filteredBy() },
};
