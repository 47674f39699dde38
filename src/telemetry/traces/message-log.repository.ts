import type { OtlpAttributes, OtlpValue } from '#otlp';
import type { Scope } from '#platform/auth';
import { followIndexes, sql, type SqlExecutor } from '#platform/db';
import type { RawJson } from '#platform/json';
import { MESSAGE_EVENTS } from '../span-mapping/meaning.table';
import type { MeaningfulEvent } from '../span-mapping/span-meaning.types';
import type { LocatedTrace } from './trace.types';

/** Maximum number of records read. */
const RECORDS_MAX = 10_000;

export interface LoggedEvents {
  events: LoggedEvent[];
  /** Whether all events were read. */
  isComplete: boolean;
}

/** An event of a model call that was sent as a log record. */
export interface LoggedEvent extends MeaningfulEvent {
  trace_id: string;
  /** Null if the record names no span. */
  span_id: string | null;
}

interface MessageRow {
  trace_id: string;
  span_id: string | null;
  event_name: string;
  body: RawJson | null;
  attributes: RawJson;
  /** Whether this record and those before it are within the limit. */
  fits: boolean;
}

/** Reads the log records that carry the messages of model calls. */
export class MessageLogRepository {
  constructor(private readonly database: SqlExecutor) {}

  /**
   * Reads the records of traces in their order, up to `maxBytes`. Records are stored by the day of their arrival. The search
   * starts one day before the trace's day, because records may arrive before the first span, which is exported when it ends.
   */
  async findByTraces(
    { workspaceId }: Scope,
    traces: readonly LocatedTrace[],
    maxBytes: number,
  ): Promise<LoggedEvents> {
    await followIndexes(this.database);
    const rows = await this.database.query<MessageRow>(
      sql`SELECT replace(l.trace_id::text, '-', '') AS trace_id, lpad(to_hex(l.span_id), 16, '0') AS span_id, l.event_name,
          l.contents <= ${maxBytes} AS fits, CASE WHEN l.contents <= ${maxBytes} THEN l.body END AS body,
          CASE WHEN l.contents <= ${maxBytes} THEN l.attributes END AS attributes
        FROM (
          SELECT *, sum(content_size) OVER (ORDER BY logged_at, log_no ROWS UNBOUNDED PRECEDING) AS contents FROM (
            SELECT record.* FROM unnest(${traces.map(({ trace_id }) => trace_id)}::uuid[]) AS ids(id)
            CROSS JOIN LATERAL (
              SELECT * FROM log_records
              WHERE workspace_id = ${workspaceId} AND trace_id = ids.id AND day >= ${earliest(traces)}::date - 1
                AND event_name LIKE 'gen\\_ai.%' AND event_name = ANY (${MESSAGE_EVENTS}::text[])
              ORDER BY logged_at, log_no LIMIT ${RECORDS_MAX}
            ) record ORDER BY logged_at, log_no LIMIT ${RECORDS_MAX}
          ) first
        ) l WHERE l.contents - l.content_size <= ${maxBytes} ORDER BY l.logged_at, l.log_no`,
    );
    const fitting = rows.filter(({ fits }) => fits);
    const isComplete = fitting.length === rows.length && rows.length < RECORDS_MAX;
    return { events: fitting.map(toEvent), isComplete };
  }
}

const earliest = (traces: readonly LocatedTrace[]): string => traces.map(({ day }) => day).sort()[0]!;

/** Reads messages from the attributes of a record, and from its body, which conventions up to version 1.36 used. */
function toEvent({ trace_id, span_id, event_name, body, attributes }: MessageRow): LoggedEvent {
  const content = body?.parse() as OtlpValue | undefined;
  const isObject = typeof content === 'object' && content !== null && !Array.isArray(content);
  const members = isObject ? content : content == null ? {} : { content };
  return {
    trace_id,
    span_id,
    name: event_name,
    attributes: { ...(attributes.parse() as OtlpAttributes), ...members },
  };
}
