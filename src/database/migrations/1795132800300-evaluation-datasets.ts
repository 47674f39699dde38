import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Datasets, their records, and every version of each record. */
export class EvaluationDatasets1795132800300 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE datasets (
        dataset_id text COLLATE "C" PRIMARY KEY,
        workspace_id text COLLATE "C" NOT NULL,
        name text NOT NULL,
        description text,
        metadata json NOT NULL DEFAULT '{}',
        tags text[] NOT NULL DEFAULT '{}',
        input_schema json,
        expected_schema json,
        record_count integer NOT NULL DEFAULT 0,
        latest_version integer,
        -- raised by every change of the dataset or of a record in it: the order in which those changes committed
        revision bigint NOT NULL DEFAULT 1,
        created_at timestamptz NOT NULL DEFAULT now(),
        updated_at timestamptz NOT NULL DEFAULT now(),
        created_by text NOT NULL,
        archived_at timestamptz,
        search tsvector GENERATED ALWAYS AS (search_words(name || ' ' || coalesce(description, ''))) STORED
      );
      CREATE INDEX datasets_search ON datasets USING gin (search);
      CREATE UNIQUE INDEX datasets_name ON datasets (workspace_id, name) WHERE archived_at IS NULL;
      CREATE INDEX datasets_by_creation ON datasets (workspace_id, dataset_id);
      CREATE INDEX datasets_by_update ON datasets (workspace_id, updated_at, dataset_id);
      CREATE INDEX datasets_by_name ON datasets (workspace_id, (name COLLATE "C"), dataset_id);
      CREATE INDEX datasets_tags ON datasets USING gin (tags);

      CREATE TABLE records (
        dataset_record_id text COLLATE "C" PRIMARY KEY,
        dataset_id text COLLATE "C" NOT NULL REFERENCES datasets,
        workspace_id text COLLATE "C" NOT NULL,
        version integer NOT NULL DEFAULT 1,
        version_id text COLLATE "C" NOT NULL,
        input json,
        expected json,
        metadata json NOT NULL DEFAULT '{}',
        tags text[] NOT NULL DEFAULT '{}',
        label text,
        category text,
        source_kind text NOT NULL DEFAULT 'manual'
          CONSTRAINT records_source_kind CHECK (source_kind IN ('manual', 'session', 'trace', 'external')),
        source_ref text,
        external_id text,
        -- the dataset's revision that made, and the one that archived the record
        created_revision bigint NOT NULL,
        archived_revision bigint,
        -- A tsvector holds 1 MiB: what is searched of a record is its first 100,000 characters. Escapes of JSON go, or
        -- the word after a line break would begin with an n.
        search tsvector GENERATED ALWAYS AS (
          search_words(regexp_replace(
            left(coalesce(input::text, '') || ' ' || coalesce(expected::text, '') || ' ' || metadata::text, 100000),
            '\\\\(u[0-9a-f]{4}|.)', ' ', 'g'))
        ) STORED,
        created_at timestamptz NOT NULL DEFAULT now(),
        updated_at timestamptz NOT NULL DEFAULT now(),
        created_by text NOT NULL,
        archived_at timestamptz
      );
      CREATE INDEX records_by_creation ON records (dataset_id, dataset_record_id);
      CREATE INDEX records_by_update ON records (dataset_id, updated_at, dataset_record_id);
      CREATE UNIQUE INDEX records_external_id ON records (dataset_id, external_id)
        WHERE external_id IS NOT NULL AND archived_at IS NULL;
      CREATE INDEX records_label ON records (dataset_id, label, dataset_record_id) WHERE label IS NOT NULL;
      CREATE INDEX records_category ON records (dataset_id, category, dataset_record_id) WHERE category IS NOT NULL;
      CREATE INDEX records_source_ref ON records (dataset_id, source_ref, dataset_record_id) WHERE source_ref IS NOT NULL;
      CREATE INDEX records_source_kind ON records (dataset_id, source_kind, dataset_record_id);
      CREATE INDEX records_search ON records USING gin (search);

      CREATE TABLE record_versions (
        dataset_record_id text COLLATE "C" NOT NULL REFERENCES records,
        version integer NOT NULL,
        version_id text COLLATE "C" NOT NULL,
        dataset_id text COLLATE "C" NOT NULL,
        workspace_id text COLLATE "C" NOT NULL,
        revision bigint NOT NULL,
        input json,
        expected json,
        metadata json NOT NULL,
        tags text[] NOT NULL,
        label text,
        category text,
        source_kind text NOT NULL,
        source_ref text,
        external_id text,
        created_at timestamptz NOT NULL DEFAULT now(),
        created_by text NOT NULL,
        PRIMARY KEY (dataset_record_id, version)
      );
      CREATE INDEX record_versions_as_of ON record_versions (dataset_id, dataset_record_id, revision);
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE record_versions, records, datasets');
  }
}
