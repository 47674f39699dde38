import type { Scope } from '#platform/auth';
import { raw, type Sql, type SqlExecutor } from '#platform/db';
import type { RowPage } from '#platform/paging';
import { mentionsInJson } from '../list-conditions.sql';
import { equals, RecordListRepository, type RecordTable } from '../records/record-list.repository';
import { type LogListQueryDto, type LogRecordRow, severityNumberOf } from './log.dto';

const TABLE: RecordTable = {
  name: 'log_records',
  time: 'logged_at',
  number: 'log_no',
  columns: `t.logged_at, CASE WHEN t.is_timed THEN t.logged_at END AS occurred_at, t.observed_at, t.severity_number,
    t.severity_text, t.event_name, t.service_name, t.body, t.attributes, replace(t.trace_id::text, '-', '') AS trace_id,
    lpad(to_hex(t.span_id), 16, '0') AS span_id, t.flags`,
};

/** A partial index serves this severity and higher ones. */
const SEVERE = 13;

/** Lists log records by their times. */
export class LogListRepository extends RecordListRepository<LogRecordRow> {
  constructor(database: SqlExecutor) {
    super(database, TABLE);
  }

  list(scope: Scope, query: LogListQueryDto): Promise<RowPage<LogRecordRow>> {
    const { trace_id, service_name, q } = query;
    const severity = severityNumberOf(query);
    // an index serves only the first condition, so the most selective comes first
    const [indexed, ...columns] = [
      ...(trace_id === undefined ? [] : [equals('trace_id', trace_id)]),
      ...(service_name === undefined ? [] : [equals('service_name', service_name)]),
      ...(severity < SEVERE ? [] : [isAtLeast(severity)]),
    ];
    if (severity > 0 && severity < SEVERE) columns.push(isAtLeast(severity));
    const content = q === undefined ? [] : [mentionsInJson('t.body', q)];
    return this.listBy(scope, query, { indexed, columns, content });
  }
}

/** Returns a condition with a literal, because PostgreSQL uses the partial index only if it knows the value when planning. */
const isAtLeast = (severity: number): Sql => raw(`t.severity_number >= ${Math.trunc(severity)}`);
