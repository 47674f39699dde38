import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { Database, Where } from '#platform/db';

/** Where a result says that it belongs to a trace or a session. */
export interface NamingResult {
  experiment_id: string;
  result_id: string;
  trace_id: string | null;
  session_id: string | null;
  created_at: Date;
}

/** That results name a session together with a trace. */
export interface NamedPair {
  session_id: string;
  trace_id: string;
  /** When the newest of them was made within the times that were asked for; null where none was. */
  last_at: Date | null;
}

/** A span of time, by when results were made. */
export interface Times {
  since?: Date | undefined;
  /** Exclusive. */
  until?: Date | undefined;
}

const NAMING = 'experiment_id, result_id, trace_id, session_id, created_at';

/** What choosing targets asks of results. */
@Injectable()
export class SelectionRepository {
  constructor(private readonly database: Database) {}

  /** The results of an experiment that name a trace or a session, newest first. */
  ofExperiment(scope: Scope, experimentId: string, limit: number): Promise<NamingResult[]> {
    return this.database.query<NamingResult>(
      `SELECT ${NAMING} FROM results
       WHERE workspace_id = $1 AND experiment_id = $2 AND (trace_id IS NOT NULL OR session_id IS NOT NULL)
       ORDER BY result_id DESC LIMIT $3`,
      [scope.workspaceId, experimentId, limit],
    );
  }

  /** Of each of these traces the newest result that names it, and fits, in any experiment. */
  newestOfTraces(
    scope: Scope,
    traceIds: readonly string[],
    fitting: Times & { sessionIds?: readonly string[] | undefined } = {},
  ): Promise<NamingResult[]> {
    return this.newestOf(scope, 'trace_id', traceIds, fitting);
  }

  /** Of each of these sessions the newest result that names it, and fits, in any experiment. */
  newestOfSessions(
    scope: Scope,
    sessionIds: readonly string[],
    fitting: Times = {},
  ): Promise<NamingResult[]> {
    return this.newestOf(scope, 'session_id', sessionIds, fitting);
  }

  /** Which of these sessions results, of any experiment, name together with which of these traces. */
  pairsOf(
    scope: Scope,
    sessionIds: readonly string[],
    traceIds: readonly string[],
    { since, until }: Times,
  ): Promise<NamedPair[]> {
    return this.database.query<NamedPair>(
      `SELECT session_id, trace_id, max(created_at) FILTER (
         WHERE created_at >= coalesce($4::timestamptz, '-infinity') AND created_at < coalesce($5::timestamptz, 'infinity')) AS last_at
       FROM results WHERE workspace_id = $1 AND session_id = ANY ($2::text[]) AND trace_id = ANY ($3::text[])
       GROUP BY session_id, trace_id`,
      [scope.workspaceId, sessionIds, traceIds, since ?? null, until ?? null],
    );
  }

  /** The sessions that results, of any experiment, name together with these traces. */
  async sessionsNamedWith(scope: Scope, traceIds: readonly string[]): Promise<string[]> {
    const rows = await this.database.query<{ session_id: string }>(
      `SELECT DISTINCT session_id FROM unnest($2::text[]) AS given(id)
       CROSS JOIN LATERAL (
         SELECT session_id FROM results
         WHERE workspace_id = $1 AND trace_id = given.id AND session_id IS NOT NULL OFFSET 0
       ) named`,
      [scope.workspaceId, traceIds],
    );
    return rows.map(({ session_id }) => session_id);
  }

  private newestOf(
    scope: Scope,
    column: 'trace_id' | 'session_id',
    ids: readonly string[],
    { since, until, sessionIds }: Times & { sessionIds?: readonly string[] | undefined },
  ): Promise<NamingResult[]> {
    if (ids.length === 0) return Promise.resolve([]);
    const where = new Where(scope.key)
      .add(`${column} = given.id`)
      .addIf(since, 'created_at >= ?')
      .addIf(until, 'created_at < ?')
      .addIf(sessionIds, 'session_id = ANY (?::text[])');
    return this.database.query<NamingResult>(
      `SELECT named.* FROM unnest(${where.parameter(ids)}::text[]) AS given(id)
       CROSS JOIN LATERAL (
         SELECT ${NAMING} FROM results WHERE ${where.toString()} ORDER BY result_id DESC LIMIT 1
       ) named`,
      where.values,
    );
  }
}
