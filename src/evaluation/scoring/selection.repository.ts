import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { Database } from '#platform/db';
import type { Grain } from '../scorers/scorer.entity';

/** Where a result says that it belongs to a trace or a session. */
export interface NamingResult {
  experiment_id: string;
  result_id: string;
  trace_id: string | null;
  session_id: string | null;
  created_at: Date;
}

/** What became of a target at the hands of one version of a scorer. */
export interface EarlierScoring {
  target_id: string;
  /** Scored, or to be scored by a run that is under way. */
  is_taken: boolean;
}

const NAMING = 'experiment_id, result_id, trace_id, session_id, created_at';

const FIND_EARLIER = {
  name: 'score-target.find-earlier',
  text: `SELECT target_id, bool_or(is_taken) AS is_taken FROM (
      SELECT target_id, error IS NULL AS is_taken FROM score_results
      WHERE workspace_id = $1 AND scorer_id = $2 AND scorer_version = $3 AND grain = $4 AND target_id = ANY($5)
      UNION ALL
      SELECT t.target_id, true FROM score_runs r JOIN score_targets t USING (score_run_id)
      WHERE r.workspace_id = $1 AND r.scorer_id = $2 AND r.scorer_version = $3 AND r.grain = $4
        AND r.run_status IN ('queued', 'running') AND t.target_id = ANY($5)
        AND NOT EXISTS (SELECT 1 FROM score_results s WHERE s.score_run_id = t.score_run_id AND s.ordinal = t.ordinal)
    ) known GROUP BY target_id`,
};

/** What choosing targets asks of results and of earlier scores. */
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

  /** The newest result that names each of these traces, in any experiment. */
  newestOfTraces(scope: Scope, traceIds: readonly string[]): Promise<NamingResult[]> {
    return this.newestOf(scope, 'trace_id', traceIds);
  }

  /** The newest result that names each of these sessions, in any experiment. */
  newestOfSessions(scope: Scope, sessionIds: readonly string[]): Promise<NamingResult[]> {
    return this.newestOf(scope, 'session_id', sessionIds);
  }

  /** Which of these targets this version of a scorer has met before. */
  findEarlier(
    scope: Scope,
    scorer: { scorer_id: string; scorer_version: number },
    grain: Grain,
    targetIds: readonly string[],
  ): Promise<EarlierScoring[]> {
    return this.database.query<EarlierScoring>(FIND_EARLIER, [
      scope.workspaceId,
      scorer.scorer_id,
      scorer.scorer_version,
      grain,
      targetIds,
    ]);
  }

  private newestOf(
    scope: Scope,
    column: 'trace_id' | 'session_id',
    ids: readonly string[],
  ): Promise<NamingResult[]> {
    if (ids.length === 0) return Promise.resolve([]);
    return this.database.query<NamingResult>(
      `SELECT named.* FROM unnest($2::text[]) AS given(id)
       CROSS JOIN LATERAL (
         SELECT ${NAMING} FROM results WHERE workspace_id = $1 AND ${column} = given.id
         ORDER BY result_id DESC LIMIT 1
       ) named`,
      [scope.workspaceId, ids],
    );
  }
}
