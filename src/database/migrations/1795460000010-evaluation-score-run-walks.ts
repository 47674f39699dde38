import { SqlMigration } from './sql-migration';

/** The ranges that selections of unscored results of an experiment have covered, so that the next selection continues there. */
export class EvaluationScoreRunWalks1795460000010 extends SqlMigration {
  protected readonly sql = `
    ALTER TABLE score_runs
      -- The oldest and the newest of a range of results. All results in it were scored, or were targets of runs, when this
      -- run was accepted. Only a hint: results may have been replaced since, or become visible late.
      ADD COLUMN walked_from text COLLATE "C",
      ADD COLUMN walked_to text COLLATE "C";
    -- the newest of these ranges
    CREATE INDEX score_runs_walks ON score_runs (scorer_id, scorer_version, grain, experiment_id, score_run_id)
      WHERE walked_from IS NOT NULL;
  `;
}
