import { Injectable } from '@nestjs/common';
import { sql, type Tx } from '#platform/db';
import {
  type ErasureBatch,
  ErasureItems,
  type ErasureRun,
  type ErasureStep,
  ErasureSteps,
} from '../../resources';
import { AgentSessionRepository } from './session.repository';

/** Traces whose sessions one transaction collects. */
const TRACES = 1_000;
/** Sessions that one transaction erases. Each may have thousands of messages. */
const SESSIONS = 20;

/** Collects the sessions that have a message about a trace of an erased end user. */
@Injectable()
export class SessionCollectStep implements ErasureStep {
  readonly name = 'sessions of traces';
  readonly subjects = ['end_user', 'session'] as const;
  readonly phase = 'collect';

  constructor(
    steps: ErasureSteps,
    private readonly items: ErasureItems,
  ) {
    steps.add(this);
  }

  async run(tx: Tx, run: ErasureRun, cursor: string | null): Promise<ErasureBatch> {
    if (run.subject === 'session') {
      await this.items.add(tx, run, 'session', sql`SELECT ${run.id}::text AS id`);
      return { counts: {}, next: null };
    }
    const traces = await this.items.list(tx, run, 'trace', cursor, TRACES);
    const sessions = sql`SELECT DISTINCT session_id AS id FROM session_messages
      WHERE workspace_id = ${run.workspaceId} AND trace_id = ANY (${traces}::text[])`;
    if (traces.length > 0) await this.items.add(tx, run, 'session', sessions);
    return { counts: {}, next: traces.length < TRACES ? null : traces.at(-1)! };
  }
}

/** Erases sessions with agents, with all of their messages. */
@Injectable()
export class SessionErasureStep implements ErasureStep {
  readonly name = 'agent sessions';
  readonly subjects = ['end_user', 'session'] as const;
  readonly phase = 'erase';

  constructor(
    steps: ErasureSteps,
    private readonly items: ErasureItems,
    private readonly sessions: AgentSessionRepository,
  ) {
    steps.add(this);
  }

  async run(tx: Tx, run: ErasureRun, cursor: string | null): Promise<ErasureBatch> {
    const ids = await this.items.list(tx, run, 'session', cursor, SESSIONS);
    const { workspaceId, isDryRun } = run;
    const counts = await this.sessions.erase(tx, workspaceId, ids, isDryRun);
    return { counts, next: ids.length < SESSIONS ? null : ids.at(-1)! };
  }
}
