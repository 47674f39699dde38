import type { Scope } from '#platform/auth';
import { followIndexes, type SqlExecutor } from '#platform/db';
import type { SpanHead } from '../trace-tree';
import { HEAD, keyOf, MEANING, OF_TRACE } from './span.repository';
import type { TracePlace } from './trace-place';

const NAMES = 'octet_length(name) + coalesce(octet_length(status_message), 0)';

const FIRST = `SELECT ${HEAD}, ${MEANING}
  FROM (
    SELECT *, sum(${NAMES}) OVER (ORDER BY started_at, span_id ROWS UNBOUNDED PRECEDING) AS names
    FROM (SELECT * FROM spans s WHERE ${OF_TRACE} ORDER BY started_at, span_id LIMIT $4) first
  ) s WHERE s.names <= $5 ORDER BY s.started_at, s.span_id`;

/** Spans of a trace without what they were sent with. */
export class SpanTreeRepository {
  constructor(private readonly database: SqlExecutor) {}

  /** The first spans of a trace, by start: at most `limit`, and as many as have names of `nameBytes` together. */
  async first(scope: Scope, trace: TracePlace, limit: number, nameBytes: number): Promise<SpanHead[]> {
    await followIndexes(this.database);
    return this.database.query<SpanHead>(FIRST, [...keyOf(scope, trace), limit, nameBytes]);
  }
}
