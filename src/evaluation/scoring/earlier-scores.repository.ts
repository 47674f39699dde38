import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { arrayParameter, Database, type SqlExecutor, type Tx } from '#platform/db';
import type { KeptIds } from '../../telemetry';
import type { Grain } from '../scorers/scorer.entity';

export interface PinnedScorer {
  scorer_id: string;
  scorer_version: number;
}

/** What became of a target at the hands of one version of a scorer. */
export interface EarlierScoring {
  target_id: string;
  /** Scored, or to be scored by a run that is under way. */
  is_taken: boolean;
}

/** Ids of targets, by what one version of a scorer has done with them; the first and the last are what it has taken. */
export interface EarlierTargets {
  scored: KeptIds;
  /** Failed at least once; may be scored besides. */
  failed: KeptIds;
  /** Scored or failed. */
  tried: KeptIds;
  /** To be scored by a run that is queued or running. */
  open: KeptIds;
}

/**
 * `(SELECT ?)`, because the planner is to go by what workspaces and scorers have on the whole: of one that the statistics
 * do not know it believes that it has nothing, and would read all for each target.
 */
const RESULTS = `SELECT target_id FROM score_results
  WHERE workspace_id = (SELECT ?) AND scorer_id = (SELECT ?) AND scorer_version = ? AND grain = ?`;

const OPEN = `SELECT t.target_id FROM score_runs r JOIN score_targets t USING (score_run_id)
  WHERE r.workspace_id = (SELECT ?) AND r.scorer_id = (SELECT ?) AND r.scorer_version = ? AND r.grain = ?
    AND r.run_status IN ('queued', 'running')
    AND NOT EXISTS (SELECT 1 FROM score_results s WHERE s.score_run_id = t.score_run_id AND s.ordinal = t.ordinal)`;

/** `(SELECT $1)` as above: else all that an unknown scorer has scored may be read, by the index of its newest scores. */
const FIND = {
  name: 'score-target.find-earlier',
  text: `SELECT target_id, bool_or(is_taken) AS is_taken FROM (
      SELECT target_id, error IS NULL AS is_taken FROM score_results
      WHERE workspace_id = (SELECT $1) AND scorer_id = (SELECT $2) AND scorer_version = $3 AND grain = $4
        AND target_id = ANY($5::text[])
      UNION ALL
      SELECT t.target_id, true FROM score_runs r JOIN score_targets t USING (score_run_id)
      WHERE r.workspace_id = $1 AND r.scorer_id = $2 AND r.scorer_version = $3 AND r.grain = $4
        AND r.run_status IN ('queued', 'running') AND t.target_id = ANY($5::text[])
        AND NOT EXISTS (SELECT 1 FROM score_results s WHERE s.score_run_id = t.score_run_id AND s.ordinal = t.ordinal)
    ) known GROUP BY target_id`,
};

/** What one version of a scorer has met before. */
@Injectable()
export class EarlierScoresRepository {
  constructor(private readonly database: Database) {}

  /** What became of those of these targets that were met. */
  find(
    scope: Scope,
    scorer: PinnedScorer,
    grain: Grain,
    targetIds: readonly string[],
    on: SqlExecutor = this.database,
  ): Promise<EarlierScoring[]> {
    const ids = arrayParameter('text', targetIds);
    return on.query<EarlierScoring>(FIND, [...keyOf(scope, scorer, grain), ids]);
  }

  /** Whether none of these targets is taken, as `taken` tells it. */
  async claim(
    tx: Tx,
    scope: Scope,
    scorer: PinnedScorer,
    grain: Grain,
    targetIds: readonly string[],
  ): Promise<boolean> {
    return (await this.taken(tx, scope, scorer, grain, targetIds)).size === 0;
  }

  /**
   * Which of these targets are taken; others who ask the same of this version of the scorer then wait until the
   * transaction ends, and so see what it takes.
   */
  async taken(
    tx: Tx,
    scope: Scope,
    scorer: PinnedScorer,
    grain: Grain,
    targetIds: readonly string[],
  ): Promise<ReadonlySet<string>> {
    const key = JSON.stringify(['unscored', ...keyOf(scope, scorer, grain)]);
    await tx.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [key]);
    const met = await this.find(scope, scorer, grain, targetIds, tx);
    return new Set(met.filter((one) => one.is_taken).map((one) => one.target_id));
  }

  /** All that were met, to be joined with. */
  targets(scope: Scope, scorer: PinnedScorer, grain: Grain): EarlierTargets {
    const values = keyOf(scope, scorer, grain);
    return {
      scored: { select: `${RESULTS} AND error IS NULL`, values },
      failed: { select: `${RESULTS} AND error IS NOT NULL`, values },
      tried: { select: RESULTS, values },
      open: { select: OPEN, values },
    };
  }
}

const keyOf = (scope: Scope, { scorer_id, scorer_version }: PinnedScorer, grain: Grain): unknown[] => [
  scope.workspaceId,
  scorer_id,
  scorer_version,
  grain,
];
