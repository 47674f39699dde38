import type { Scope } from '#platform/auth';
import type { SqlExecutor } from '#platform/db';
import type { RawJson } from '#platform/json';
import type { ListQueryDto, RowPage } from '#platform/paging';
import {
  type Condition,
  equals,
  RecordListRepository,
  type RecordTable,
} from '../lists/record-list.repository';
import type { TimeBounds } from '../trace-list';
import { mentionsInJson } from '../lists/pattern';
import type { SourceParts } from '../sources/source-read.repository';

/** A log record as it is listed. */
export interface LogRecordRow extends SourceParts {
  logged_at: Date;
  occurred_at: Date | null;
  observed_at: Date | null;
  severity_number: number;
  severity_text: string | null;
  event_name: string | null;
  service_name: string | null;
  body: RawJson | null;
  attributes: RawJson;
  trace_id: string | null;
  span_id: string | null;
  flags: number;
}

/** Which log records to list. All that is given holds. */
export interface LogListFilters extends TimeBounds {
  service_name?: string;
  /** 32 lower-case hexadecimal digits. */
  trace_id?: string;
  /** 1 to 24: of this severity or a higher one. */
  severity_number?: number;
  /** Occurs in the body, in one piece; upper and lower case are the same. */
  q?: string;
  attributes: Condition[];
}

const TABLE: RecordTable = {
  name: 'log_records',
  time: 'logged_at',
  number: 'log_no',
  columns: `t.logged_at, CASE WHEN t.is_timed THEN t.logged_at END AS occurred_at, t.observed_at, t.severity_number,
    t.severity_text, t.event_name, t.service_name, t.body, t.attributes, replace(t.trace_id::text, '-', '') AS trace_id,
    lpad(to_hex(t.span_id), 16, '0') AS span_id, t.flags`,
};

/** From here on there is an index of severities. */
const SEVERE = 13;

/** Lists of log records, by their times. */
export class LogListRepository {
  private readonly records: RecordListRepository<LogRecordRow>;

  constructor(database: SqlExecutor) {
    this.records = new RecordListRepository(database, TABLE);
  }

  list(scope: Scope, filters: LogListFilters, query: ListQueryDto): Promise<RowPage<LogRecordRow>> {
    const { trace_id, service_name, severity_number = 0, q, attributes, since_us, until_us } = filters;
    // those that the fewest records meet first: an index serves one of them
    const indexed = [
      ...(trace_id === undefined ? [] : [equals('trace_id', trace_id)]),
      ...(service_name === undefined ? [] : [equals('service_name', service_name)]),
      ...(severity_number < SEVERE ? [] : [isOfSeverity(severity_number)]),
    ];
    const [narrow, ...conditions] = indexed;
    if (severity_number > 0 && severity_number < SEVERE) conditions.push(isOfSeverity(severity_number));
    const lookups = [...(q === undefined ? [] : [bodyMentions(q)]), ...attributes];
    return this.records.list(scope, { since_us, until_us, narrow, conditions, lookups }, query);
  }
}

/** A literal, by which PostgreSQL sees that the index of severe records has all of them. */
const isOfSeverity =
  (number: number): Condition =>
  () =>
    `t.severity_number >= ${Math.trunc(number)}`;

const bodyMentions =
  (q: string): Condition =>
  (where) =>
    mentionsInJson(where, 't.body', q);
