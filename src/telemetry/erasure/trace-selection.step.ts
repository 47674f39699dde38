import { Injectable } from '@nestjs/common';
import { empty, microsecondsToTime, raw, sql, timeToMicroseconds, type Tx } from '#platform/db';
import { NO_ROLES, workspaceScope } from '#platform/auth';
import {
  type ErasureBatch,
  ErasureItems,
  type ErasureRun,
  type ErasureStep,
  ErasureSteps,
} from '../../resources';
import { parseConditions, type TraceConditions } from '../traces/stats/rule-filter.dto';
import { TraceRepository } from '../traces/trace.repository';
import type { TracePosition } from '../traces/trace.types';

/** Traces per batch. */
const BATCH = 1_000;

/** Collects the traces of an end user or a session, and those that filters select. */
@Injectable()
export class TraceSelectionStep implements ErasureStep {
  readonly name = 'selected traces';
  readonly subjects = ['end_user', 'session', 'traces'] as const;
  readonly phase = 'select';

  constructor(
    steps: ErasureSteps,
    private readonly items: ErasureItems,
  ) {
    steps.add(this);
  }

  async run(tx: Tx, erasure: ErasureRun, cursor: string | null): Promise<ErasureBatch> {
    const { subject, filters } = erasure;
    const after = cursor === null ? undefined : (JSON.parse(cursor) as TracePosition);
    // the traces that a request names are items already
    if (subject === 'traces' && filters === undefined) return ENDED;
    if (subject === 'session' && !after) {
      await this.items.add(tx, erasure, 'session', sql`SELECT ${erasure.id}::text AS id`);
    }
    const refs =
      subject === 'traces' ? await this.filtered(tx, erasure, after) : await this.named(tx, erasure, after);
    const ids = refs.map(({ trace_id }) => trace_id);
    await this.items.add(tx, erasure, 'trace', sql`SELECT unnest(${ids}::text[]) AS id`);
    if (subject === 'end_user') {
      const sessions = refs.flatMap(({ session_id }) => session_id ?? []);
      await this.items.add(tx, erasure, 'session', sql`SELECT DISTINCT unnest(${sessions}::text[]) AS id`);
    }
    const last = refs.at(-1);
    if (!last || refs.length < BATCH) return ENDED;
    const { trace_id, started_us } = last;
    return { counts: {}, next: JSON.stringify({ trace_id, started_us }) };
  }

  private filtered(tx: Tx, { orgId, workspaceId, filters }: ErasureRun, after?: TracePosition) {
    const scope = workspaceScope(orgId, workspaceId, 'erasure', NO_ROLES);
    const selection = parseConditions(filters as TraceConditions);
    return new TraceRepository(tx).refs(scope, selection, BATCH, after);
  }

  /** Returns the traces of an end user or a session, newest first. Those of an end user who returned later are new data. */
  private named(tx: Tx, { subject, workspaceId, id, requestedAt }: ErasureRun, after?: TracePosition) {
    const column = raw(subject === 'session' ? 'session_id' : 'user_id');
    const isBefore = after
      ? sql` AND (started_at, trace_id) < (${microsecondsToTime(sql`${after.started_us}::bigint`)}, ${after.trace_id})`
      : empty;
    const isOld = subject === 'session' ? empty : sql` AND least(started_at, arrived_at) < ${requestedAt}`;
    return tx.query<TracePosition & { session_id: string | null }>(
      sql`SELECT trace_id, session_id, ${timeToMicroseconds(raw('started_at'))}::text AS started_us FROM traces
        WHERE workspace_id = ${workspaceId} AND ${column} = ${id}${isOld}${isBefore}
        ORDER BY started_at DESC, trace_id DESC LIMIT ${BATCH}`,
    );
  }
}

const ENDED: ErasureBatch = { counts: {}, next: null };
