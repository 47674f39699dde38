import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * What searches of datasets and experiments look in besides what lists do. `metadata` is kept as it was sent, which
 * holds nothing that jsonb could not (NUL, halves of surrogate pairs and numbers beyond a double are refused as they
 * come), so its cast cannot fail.
 */
export class EvaluationSearch1795132800910 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE INDEX datasets_metadata ON datasets USING gin ((metadata::jsonb) jsonb_path_ops);
      CREATE INDEX datasets_by_time ON datasets (workspace_id, created_at, dataset_id);
      CREATE INDEX experiments_metadata ON experiments USING gin ((metadata::jsonb) jsonb_path_ops);
      CREATE INDEX experiments_by_time ON experiments (workspace_id, created_at, experiment_id);

      -- the means of summaries, apart so that they can be compared; written as an experiment is finalized, never changed
      CREATE TABLE experiment_scores (
        experiment_id text COLLATE "C" NOT NULL,
        workspace_id text COLLATE "C" NOT NULL,
        scorer text COLLATE "C" NOT NULL,
        mean double precision NOT NULL,
        PRIMARY KEY (experiment_id, scorer) INCLUDE (workspace_id, mean)
      );
      CREATE INDEX experiment_scores_mean ON experiment_scores (workspace_id, scorer, mean, experiment_id);
      INSERT INTO experiment_scores
        SELECT experiment_id, workspace_id, score.key, (score.value->>'mean')::float8
        FROM experiments CROSS JOIN LATERAL (SELECT * FROM json_each(summary->'scores') LIMIT 1000) AS score;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP TABLE experiment_scores;
      DROP INDEX datasets_metadata, datasets_by_time, experiments_metadata, experiments_by_time;
    `);
  }
}
