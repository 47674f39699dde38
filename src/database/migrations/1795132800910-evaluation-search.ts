import type { MigrationInterface, QueryRunner } from 'typeorm';

const searchWords = (separated: string): string => `
  CREATE OR REPLACE FUNCTION search_words(text) RETURNS tsvector LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT pg_catalog.to_tsvector('pg_catalog.simple'::pg_catalog.regconfig, ${separated})
  $$;
`;

/** The punctuation of ASCII, in ranges of code points. */
const BY_CLASS = "pg_catalog.regexp_replace($1, '[!-/:-@[-`{-~]+', ' ', 'g')";
const BY_TRANSLATION =
  "pg_catalog.translate($1, $p$!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~$p$, pg_catalog.repeat(' ', 32))";

/**
 * What searches of datasets and experiments look in besides what lists do, and lists that are counted from their index.
 *
 * `metadata` is kept as it was sent, which holds nothing that jsonb could not (NUL, halves of surrogate pairs and
 * numbers beyond a double are refused as they come), so its cast cannot fail.
 */
export class EvaluationSearch1795132800910 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    // the same words as before, in a third of the time: translate() looks through its 32 characters for each of the text
    await runner.query(searchWords(BY_CLASS));
    await runner.query(`
      CREATE INDEX datasets_metadata ON datasets USING gin ((metadata::jsonb) jsonb_path_ops);
      CREATE INDEX experiments_metadata ON experiments USING gin ((metadata::jsonb) jsonb_path_ops);
      CREATE INDEX records_tags ON records USING gin (tags);

      -- the means of summaries, apart so that they can be compared; written as an experiment is finalized, never changed
      CREATE TABLE experiment_scores (
        workspace_id text COLLATE "C" NOT NULL,
        experiment_id text COLLATE "C" NOT NULL,
        scorer text COLLATE "C" NOT NULL,
        mean double precision NOT NULL,
        PRIMARY KEY (workspace_id, experiment_id, scorer) INCLUDE (mean)
      );
      CREATE INDEX experiment_scores_mean ON experiment_scores (workspace_id, scorer, mean, experiment_id);
      INSERT INTO experiment_scores (workspace_id, experiment_id, scorer, mean)
        SELECT workspace_id, experiment_id, score.key, (score.value->>'mean')::float8
        FROM experiments CROSS JOIN LATERAL (SELECT * FROM json_each(summary->'scores') LIMIT 1000) AS score;

      -- All that counting a whole list looks at stands in the index, so that no row is read for it. The old ones go
      -- last: reading waits for the end of a migration from there on, and not while an index is built.
      CREATE INDEX experiments_counted ON experiments (workspace_id, experiment_id) INCLUDE (archived_at);
      CREATE INDEX records_counted ON records (dataset_id, dataset_record_id) INCLUDE (workspace_id, archived_at);
      DROP INDEX experiments_by_creation, records_by_creation;
      ALTER INDEX experiments_counted RENAME TO experiments_by_creation;
      ALTER INDEX records_counted RENAME TO records_by_creation;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP INDEX experiments_by_creation, records_by_creation;
      CREATE INDEX experiments_by_creation ON experiments (workspace_id, experiment_id);
      CREATE INDEX records_by_creation ON records (dataset_id, dataset_record_id);
      DROP TABLE experiment_scores;
      DROP INDEX datasets_metadata, experiments_metadata, records_tags;
    `);
    await runner.query(searchWords(BY_TRANSLATION));
  }
}
