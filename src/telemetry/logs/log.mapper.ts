import { SEVERITIES } from '#otlp';
import type { LogRecordDto } from './log.dto';
import type { LogRecordRow } from './log-list.repository';

export const toLogRecordDto = (row: LogRecordRow): LogRecordDto => ({
  logged_at: row.logged_at,
  occurred_at: row.occurred_at,
  observed_at: row.observed_at,
  severity_number: row.severity_number,
  severity: SEVERITIES[row.severity_number] ?? SEVERITIES[0],
  severity_text: row.severity_text,
  event_name: row.event_name,
  body: row.body,
  service_name: row.service_name,
  attributes: row.attributes,
  trace_id: row.trace_id,
  span_id: row.span_id,
  flags: row.flags,
  resource: row.resource,
  scope: row.scope,
});
