import type { MigrationInterface, QueryRunner } from 'typeorm';

/** CSV versions of datasets: what they are, their bytes, and the ids of their cases. */
export class EvaluationDatasetVersions1795132800900 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      -- What a file holds is written before the version that it becomes, whose number is given out last, so that the
      -- dataset is locked for no longer than that takes.
      CREATE SEQUENCE dataset_contents AS bigint;

      CREATE TABLE dataset_versions (
        dataset_id text COLLATE "C" NOT NULL REFERENCES datasets,
        version integer NOT NULL,
        version_id text COLLATE "C" NOT NULL,
        workspace_id text COLLATE "C" NOT NULL,
        content_id bigint NOT NULL,
        row_count integer NOT NULL,
        columns text[] NOT NULL,
        size_bytes integer NOT NULL,
        sha256 text COLLATE "C" NOT NULL,
        -- null where cases are called by the number of their row
        case_id_column text,
        mapping jsonb NOT NULL,
        -- of how the columns are read; the same bytes read otherwise are another version
        options_sha256 text COLLATE "C" NOT NULL,
        created_at timestamptz NOT NULL,
        created_by text NOT NULL,
        -- about how long it is as JSON: the mapping names all columns but one again
        bytes integer NOT NULL GENERATED ALWAYS AS (2 * octet_length(mapping::text)) STORED,
        PRIMARY KEY (dataset_id, version)
      );
      CREATE UNIQUE INDEX dataset_versions_content ON dataset_versions (content_id);
      CREATE UNIQUE INDEX dataset_versions_by_creation ON dataset_versions (dataset_id, version_id);
      CREATE UNIQUE INDEX dataset_versions_same ON dataset_versions (dataset_id, sha256, options_sha256);

      -- The bytes of a file in pieces of one size, with where rows begin in them: nothing else is kept of its cells.
      CREATE TABLE dataset_chunks (
        content_id bigint NOT NULL,
        workspace_id text COLLATE "C" NOT NULL,
        ordinal integer NOT NULL,
        -- rows that began in the chunks before, and the byte at which the next one begins, if one does
        rows_before integer NOT NULL,
        row_offset integer,
        data bytea NOT NULL,
        PRIMARY KEY (content_id, ordinal)
      );
      -- compressing would cost more than all the rest of an upload
      ALTER TABLE dataset_chunks ALTER COLUMN data SET STORAGE EXTERNAL;

      -- The ids that a column gives the cases. Without a reference to their version, which would be checked for each.
      -- A content is of one workspace, so that its number alone leads their index.
      CREATE TABLE dataset_cases (
        content_id bigint NOT NULL,
        workspace_id text COLLATE "C" NOT NULL,
        case_id text COLLATE "C" NOT NULL,
        row_number integer NOT NULL,
        PRIMARY KEY (content_id, case_id)
      );
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP TABLE dataset_cases, dataset_chunks, dataset_versions;
      DROP SEQUENCE dataset_contents;
      -- the versions that datasets speak of are gone
      UPDATE datasets SET latest_version = NULL;
    `);
  }
}
