import { Injectable } from '@nestjs/common';
import { Database, type Tx } from '#platform/db';
import { SessionKeepingRepository } from '../sessions/session-keeping.repository';
import { BATCH, deleteInBatches } from './in-batches';

const forget = (which: string): string => `WITH gone AS (
    DELETE FROM traces WHERE ctid = ANY(ARRAY(${which})) AND day = $1::date
    RETURNING workspace_id, trace_id, session_id
  ), used AS (
    DELETE FROM trace_models m USING gone
    WHERE m.workspace_id = gone.workspace_id AND m.trace_id = gone.trace_id
  )
  SELECT workspace_id, session_id, count(*) AS gone FROM gone GROUP BY workspace_id, session_id`;

/** How many traces of a session are gone; also of none. */
export interface GoneTraces {
  workspace_id: string;
  session_id: string | null;
  gone: number;
}

const FORGET_SOME = {
  name: 'trace.forget-some',
  text: forget(`SELECT ctid FROM traces WHERE day = $1::date LIMIT ${BATCH} FOR UPDATE SKIP LOCKED`),
};

const LOCK_REST = {
  name: 'trace.lock-rest',
  text: 'SELECT 1 FROM traces WHERE day = $1::date FOR UPDATE',
};

/** After they are locked, as a statement of its own: one that waited would not see what it had waited for. */
const FORGET_REST = {
  name: 'trace.forget-rest',
  text: forget('SELECT ctid FROM traces WHERE day = $1::date'),
};

const FORGET_SOURCES = {
  name: 'span-source.forget-some',
  text: `WITH gone AS (
      DELETE FROM span_sources WHERE ctid = ANY(ARRAY(
        SELECT ctid FROM span_sources WHERE day < $1::date LIMIT ${BATCH} FOR UPDATE SKIP LOCKED
      )) AND day < $1::date RETURNING 1
    ) SELECT count(*) AS gone FROM gone`,
};

/** Deletes what is kept of traces beside the partitions of their spans: across workspaces, all of one age. */
@Injectable()
export class TraceRetentionRepository {
  constructor(
    private readonly database: Database,
    private readonly sessions: SessionKeepingRepository,
  ) {}

  /** Deletes the rows of the traces of a day, a batch at a time, but for those that are being written to. */
  async forgetMost(day: string): Promise<void> {
    const forgetSome = async (tx: Tx): Promise<number> => {
      const some = await tx.query<GoneTraces>(FORGET_SOME, [day]);
      await this.keepSessions(tx, some);
      return some.reduce((sum, { gone }) => sum + gone, 0);
    };
    while ((await this.database.transaction(forgetSome)) === BATCH);
  }

  /** Deletes the others, when what writes to them has ended. @returns what their sessions are to be kept by */
  async forgetRest(tx: Tx, day: string): Promise<GoneTraces[]> {
    await tx.query(LOCK_REST, [day]);
    return tx.query<GoneTraces>(FORGET_REST, [day]);
  }

  /** Keeps the sessions of traces that are gone. */
  keepSessions(tx: Tx, gone: readonly GoneTraces[]): Promise<void> {
    const lessened = gone.flatMap(({ workspace_id, session_id }) =>
      session_id === null
        ? []
        : [{ workspaceId: workspace_id, sessionId: session_id, startedAt: null, isLessened: true }],
    );
    return this.sessions.keep(tx, lessened);
  }

  /** Deletes the sources that no span came from since the day before. */
  forgetSources(before: string): Promise<void> {
    return deleteInBatches(this.database, FORGET_SOURCES, [before]);
  }
}
