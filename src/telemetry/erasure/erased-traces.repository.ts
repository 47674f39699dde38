import { Injectable } from '@nestjs/common';
import { NO_ROLES, workspaceScope } from '#platform/auth';
import { empty, microsecondsToTime, raw, sql, timeToMicroseconds, type Tx } from '#platform/db';
import type { ErasureRun } from '../../resources';
import { parseConditions, type TraceConditions } from '../traces/stats/rule-filter.dto';
import { TraceRepository } from '../traces/trace.repository';
import type { TracePosition } from '../traces/trace.types';

/** A trace to erase. */
export interface ErasedTrace extends TracePosition {
  session_id: string | null;
}

/** Selects the traces of erasures. */
@Injectable()
export class ErasedTracesRepository {
  /**
   * Returns the traces of an end user or a session, or those that filters select, newest first. The traces of an end user who
   * returned after the request are new data.
   */
  select(tx: Tx, erasure: ErasureRun, limit: number, after?: TracePosition): Promise<ErasedTrace[]> {
    const { subject, orgId, workspaceId, filters, id, requestedAt } = erasure;
    if (subject === 'traces') {
      const scope = workspaceScope(orgId, workspaceId, 'erasure', NO_ROLES);
      return new TraceRepository(tx).refs(scope, parseConditions(filters as TraceConditions), limit, after);
    }
    const isOfSubject =
      subject === 'session'
        ? sql`session_id = ${id}`
        : sql`user_id = ${id} AND least(started_at, arrived_at) < ${requestedAt}`;
    const isAfter = after
      ? sql` AND (started_at, trace_id) < (${microsecondsToTime(sql`${after.started_us}::bigint`)}, ${after.trace_id})`
      : empty;
    return tx.query<ErasedTrace>(
      sql`SELECT trace_id, session_id, ${timeToMicroseconds(raw('started_at'))}::text AS started_us FROM traces
        WHERE workspace_id = ${workspaceId} AND ${isOfSubject}${isAfter}
        ORDER BY started_at DESC, trace_id DESC LIMIT ${limit}`,
    );
  }
}
