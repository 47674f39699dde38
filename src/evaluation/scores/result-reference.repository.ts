import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { Database, followIndexes, raw, type Sql, sql, Where } from '#platform/db';

/** A result that references a trace or a session. */
export interface ReferencingResult {
  experiment_id: string;
  result_id: string;
  trace_id: string | null;
  session_id: string | null;
  created_at: Date;
}

/** A result of an experiment. It need not reference a trace or a session. */
export interface ExperimentResult extends ReferencingResult {
  version: number;
  case_id: string;
}

/** A session and a trace that the same results reference. */
export interface ReferencedPair {
  session_id: string;
  trace_id: string;
  /** When the newest of these results within the requested times was created. Null if there is none. */
  last_at: Date | null;
}

/** A range of creation times of results. */
export interface Times {
  since?: Date | undefined;
  /** Exclusive. */
  until?: Date | undefined;
}

/** Which results of an experiment to read, by their ids. All bounds are optional. */
export interface ResultRange {
  /** Exclusive. */
  below?: string | undefined;
  /** Exclusive. */
  above?: string | undefined;
  /** Inclusive. */
  from?: string | undefined;
  /** Inclusive. */
  to?: string | undefined;
}

const COLUMNS = raw('experiment_id, result_id, trace_id, session_id, created_at');

/** Finds results by the traces and sessions that they reference, for the selection of scoring targets. */
@Injectable()
export class ResultReferenceRepository {
  constructor(private readonly database: Database) {}

  /**
   * Returns the newest results of an experiment in a range, optionally only those of some traces. Reads in the order of the
   * key, because without statistics the planner would sort all results.
   */
  newestOfExperiment(
    scope: Scope,
    experimentId: string,
    limit: number,
    { traceIds, ...range }: ResultRange & { traceIds?: readonly string[] | undefined } = {},
  ): Promise<ExperimentResult[]> {
    const from = resultsOf(scope, experimentId, traceIds, range);
    return this.database.transaction(async (tx) => {
      if (!traceIds) await followIndexes(tx);
      return tx.query<ExperimentResult>(
        sql`SELECT ${COLUMNS}, version, case_id FROM ${from} ORDER BY result_id DESC LIMIT ${limit}`,
      );
    });
  }

  /** Counts the results of an experiment, optionally only those of some traces. */
  async countOfExperiment(scope: Scope, experimentId: string, traceIds?: readonly string[]): Promise<number> {
    const [row] = await this.database.query<{ count: number }>(
      sql`SELECT count(*) AS count FROM ${resultsOf(scope, experimentId, traceIds)}`,
    );
    return row!.count;
  }

  /** Returns for each trace the newest result of any experiment that references it and matches the filters. */
  newestOfTraces(
    scope: Scope,
    traceIds: readonly string[],
    filters: Times & { sessionIds?: readonly string[] | undefined } = {},
  ): Promise<ReferencingResult[]> {
    return this.newestOf(scope, 'trace_id', traceIds, filters);
  }

  /** Returns for each session the newest result of any experiment that references it and matches the filters. */
  newestOfSessions(
    scope: Scope,
    sessionIds: readonly string[],
    filters: Times = {},
  ): Promise<ReferencingResult[]> {
    return this.newestOf(scope, 'session_id', sessionIds, filters);
  }

  /** Returns the pairs of these sessions and traces that results of any experiment reference together. */
  pairsOf(
    { workspaceId }: Scope,
    sessionIds: readonly string[],
    traceIds: readonly string[],
    { since, until }: Times,
  ): Promise<ReferencedPair[]> {
    return this.database.query<ReferencedPair>(
      sql`SELECT session_id, trace_id, max(created_at) FILTER (
            WHERE created_at >= coalesce(${since ?? null}::timestamptz, '-infinity')
              AND created_at < coalesce(${until ?? null}::timestamptz, 'infinity')) AS last_at
        FROM results
        WHERE workspace_id = ${workspaceId} AND session_id = ANY (${sessionIds}::text[])
          AND trace_id = ANY (${traceIds}::text[])
        GROUP BY session_id, trace_id`,
    );
  }

  /** Returns the sessions that results of any experiment reference together with these traces. */
  async sessionsReferencedWith({ workspaceId }: Scope, traceIds: readonly string[]): Promise<string[]> {
    const rows = await this.database.query<{ session_id: string }>(
      sql`SELECT DISTINCT session_id FROM unnest(${traceIds}::text[]) AS ids(id)
        CROSS JOIN LATERAL (
          SELECT session_id FROM results
          WHERE workspace_id = ${workspaceId} AND trace_id = ids.id AND session_id IS NOT NULL OFFSET 0
        ) result`,
    );
    return rows.map(({ session_id }) => session_id);
  }

  private newestOf(
    scope: Scope,
    column: 'trace_id' | 'session_id',
    ids: readonly string[],
    { since, until, sessionIds }: Times & { sessionIds?: readonly string[] | undefined },
  ): Promise<ReferencingResult[]> {
    if (ids.length === 0) return Promise.resolve([]);
    const where = new Where(scope.key)
      .add(sql`${raw(column)} = ids.id`)
      .addIf(since, (time) => sql`created_at >= ${time}`)
      .addIf(until, (time) => sql`created_at < ${time}`)
      .addIf(sessionIds, (sessions) => sql`session_id = ANY (${sessions}::text[])`);
    return this.database.query<ReferencingResult>(
      sql`SELECT result.* FROM unnest(${ids}::text[]) AS ids(id)
        CROSS JOIN LATERAL (
          SELECT ${COLUMNS} FROM results WHERE ${where.sql} ORDER BY result_id DESC LIMIT 1
        ) result`,
    );
  }
}

/** Selects the results of an experiment. With `traceIds`, results are looked up by their trace (LATERAL, OFFSET 0). */
function resultsOf(
  scope: Scope,
  experimentId: string,
  traceIds: readonly string[] | undefined,
  { below, above, from, to }: ResultRange = {},
): Sql {
  const where = new Where(scope.key)
    .add(sql`experiment_id = ${experimentId}`)
    .addIf(below, (id) => sql`result_id < ${id}`)
    .addIf(above, (id) => sql`result_id > ${id}`)
    .addIf(from, (id) => sql`result_id >= ${id}`)
    .addIf(to, (id) => sql`result_id <= ${id}`);
  if (!traceIds) return sql`results WHERE ${where.sql}`;
  where.add(sql`trace_id = ids.id`);
  return sql`unnest(${traceIds}::text[]) AS ids(id)
    CROSS JOIN LATERAL (SELECT * FROM results WHERE ${where.sql} OFFSET 0) result`;
}
