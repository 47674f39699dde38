import { bytesOf, minuteColumn, SqlMigration } from './sql-migration';

/** Datasets, their records, the versions of each record, and CSV versions of datasets. */
export class EvaluationDatasets1795824000010 extends SqlMigration {
  protected readonly sql = `
    -- Sets of cases. Each new record changes the times of its dataset. Indexes contain only their minute, so that most of
    -- these updates are heap-only. An expression index would not help, because PostgreSQL compares the columns in it.
    CREATE TABLE datasets (
      dataset_id text COLLATE "C" PRIMARY KEY,
      workspace_id text COLLATE "C" NOT NULL,
      name text NOT NULL,
      description text,
      -- stored as it was sent
      metadata json NOT NULL DEFAULT '{}',
      tags text[] NOT NULL DEFAULT '{}',
      input_schema json,
      expected_schema json,
      record_count integer NOT NULL DEFAULT 0,
      -- the newest CSV version
      latest_version integer,
      -- the highest number that a CSV version has ever had, because the number of a deleted version is never used again
      last_version integer NOT NULL DEFAULT 0,
      -- rows of the newest CSV version
      row_count integer,
      -- the promoted baselines: experiment ids by eval name
      baselines jsonb NOT NULL DEFAULT '{}',
      -- the store item, the release and the publisher's version that a copy was installed from; null for other resources
      acquired_from jsonb,
      -- incremented by each change of the dataset or of one of its records, in commit order
      revision bigint NOT NULL DEFAULT 1,
      created_at timestamptz NOT NULL DEFAULT now(),
      updated_at timestamptz NOT NULL DEFAULT now(),
      created_by text NOT NULL,
      archived_at timestamptz,
      bytes integer NOT NULL GENERATED ALWAYS AS
        (${bytesOf('description', 'metadata', 'input_schema', 'expected_schema')}) STORED,
      search tsvector GENERATED ALWAYS AS (search_words(name || ' ' || coalesce(description, ''))) STORED,
      ${minuteColumn('updated_minute', 'updated_at')}
    ) WITH (fillfactor = 80);
    -- the name comes first, because it is more selective, so that the planner does not use this index for lists
    CREATE UNIQUE INDEX datasets_name ON datasets (name, workspace_id) WHERE archived_at IS NULL;
    -- GET /eval/v1/datasets: sorts created_at (archived_at is included, so that totals are counted from the index alone),
    -- updated_at and name, filters name, q and tag
    CREATE INDEX datasets_by_creation ON datasets (workspace_id, dataset_id) INCLUDE (archived_at);
    CREATE INDEX datasets_by_update ON datasets (workspace_id, updated_minute, dataset_id);
    CREATE INDEX datasets_by_name ON datasets (workspace_id, (name COLLATE "C"), dataset_id);
    CREATE INDEX datasets_search ON datasets USING gin (search);
    CREATE INDEX datasets_tags ON datasets USING gin (tags);
    -- POST /eval/v1/datasets/search: metadata
    CREATE INDEX datasets_metadata ON datasets USING gin (searchable_json(metadata) jsonb_path_ops);
    -- the copies of a published resource
    CREATE INDEX datasets_acquired ON datasets (workspace_id, (acquired_from ->> 'artifact_id'))
      WHERE acquired_from IS NOT NULL AND archived_at IS NULL;

    -- Returns the words of a record. A tsvector is limited to 1 MiB, so it contains metadata, which is small, and the first
    -- 40,000 characters of expected and of input. JSON escapes are removed, because otherwise the word after a line break
    -- would start with an n.
    CREATE FUNCTION record_words(metadata json, expected json, input json) RETURNS tsvector
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
      SELECT search_words(regexp_replace(
        metadata::text || ' ' || left(coalesce(expected::text, ''), 40000) || ' ' || left(coalesce(input::text, ''), 40000),
        '\\\\(u[0-9a-f]{4}|.)', ' ', 'g'))
    $$;

    -- The editable cases of datasets.
    CREATE TABLE records (
      dataset_record_id text COLLATE "C" PRIMARY KEY,
      dataset_id text COLLATE "C" NOT NULL REFERENCES datasets ON DELETE CASCADE,
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
      -- the version that a release of the store wrote; null for other records. Users have changed a record with a later one
      acquired_version integer,
      -- the revision of the dataset that created the record, and the revisions during which it was archived
      created_revision bigint NOT NULL,
      archived_during int8multirange NOT NULL DEFAULT '{}',
      created_at timestamptz NOT NULL DEFAULT now(),
      updated_at timestamptz NOT NULL DEFAULT now(),
      created_by text NOT NULL,
      archived_at timestamptz,
      bytes integer NOT NULL GENERATED ALWAYS AS (${bytesOf('input', 'expected', 'metadata')}) STORED,
      -- The result of record_words, or null until a worker fills it. Computing and indexing the words of a long record takes
      -- ten times as long as writing the record, and the writer would hold the lock of the dataset meanwhile.
      search tsvector
    );
    -- GET /eval/v1/datasets/{id}/records: sorts created_at and updated_at, filters external_id, label, category,
    -- source_ref, source_kind, q and tag. Included columns let totals be counted from the index alone.
    CREATE INDEX records_by_creation ON records (dataset_id, dataset_record_id) INCLUDE (workspace_id, archived_at);
    CREATE INDEX records_by_update ON records (dataset_id, updated_at, dataset_record_id);
    CREATE UNIQUE INDEX records_external_id ON records (dataset_id, external_id)
      WHERE external_id IS NOT NULL AND archived_at IS NULL;
    CREATE INDEX records_label ON records (dataset_id, label, dataset_record_id) WHERE label IS NOT NULL;
    CREATE INDEX records_category ON records (dataset_id, category, dataset_record_id) WHERE category IS NOT NULL;
    CREATE INDEX records_source_ref ON records (dataset_id, source_ref, dataset_record_id) WHERE source_ref IS NOT NULL;
    CREATE INDEX records_source_kind ON records (dataset_id, source_kind, dataset_record_id);
    CREATE INDEX records_search ON records USING gin (search);
    CREATE INDEX records_tags ON records USING gin (tags);
    -- workers: the records whose words are not indexed yet
    CREATE INDEX records_without_words ON records (dataset_id) INCLUDE (bytes) WHERE search IS NULL;

    -- Every state of a record.
    CREATE TABLE record_versions (
      dataset_record_id text COLLATE "C" NOT NULL REFERENCES records ON DELETE CASCADE,
      version integer NOT NULL,
      version_id text COLLATE "C" NOT NULL,
      dataset_id text COLLATE "C" NOT NULL,
      workspace_id text COLLATE "C" NOT NULL,
      -- the revision of the dataset that created this version
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
      bytes integer NOT NULL GENERATED ALWAYS AS (${bytesOf('input', 'expected', 'metadata')}) STORED,
      PRIMARY KEY (dataset_record_id, version)
    );
    -- snapshots and exports: the records of a dataset at a revision
    CREATE INDEX record_versions_as_of ON record_versions (dataset_id, dataset_record_id, revision);
    -- erasures: the records that were made from a trace or a session
    CREATE INDEX record_versions_source ON record_versions (dataset_id, source_ref)
      WHERE source_kind IN ('trace', 'session');

    -- The ids of uploaded files. A file is stored before it becomes a version, so that the dataset is locked only briefly,
    -- while the version gets its number.
    CREATE SEQUENCE dataset_contents AS bigint;

    -- CSV files of datasets. Each file is a version.
    CREATE TABLE dataset_versions (
      dataset_id text COLLATE "C" NOT NULL REFERENCES datasets ON DELETE CASCADE,
      version integer NOT NULL,
      version_id text COLLATE "C" NOT NULL,
      workspace_id text COLLATE "C" NOT NULL,
      content_id bigint NOT NULL,
      row_count integer NOT NULL,
      columns text[] NOT NULL,
      size_bytes integer NOT NULL,
      sha256 text COLLATE "C" NOT NULL,
      -- null if the case id is the row number
      case_id_column text,
      mapping jsonb NOT NULL,
      -- hash of the options: the same bytes with other options are another version
      options_sha256 text COLLATE "C" NOT NULL,
      created_at timestamptz NOT NULL,
      created_by text NOT NULL,
      -- twice the mapping, because it names nearly all columns a second time
      bytes integer NOT NULL GENERATED ALWAYS AS (2 * octet_length(mapping::text)) STORED,
      PRIMARY KEY (dataset_id, version)
    );
    -- each file belongs to one version
    CREATE UNIQUE INDEX dataset_versions_content ON dataset_versions (content_id);
    -- a repeated upload returns the existing version; the most selective column is the first, as in datasets_name
    CREATE UNIQUE INDEX dataset_versions_same ON dataset_versions (sha256, dataset_id, options_sha256);
    -- a hash index, so that the planner cannot use it for the list of versions, which is in the order of their numbers
    CREATE INDEX dataset_versions_id ON dataset_versions USING hash (version_id);

    -- The bytes of a file in chunks of equal size, with the position of the first row in each. Cells are parsed on read.
    CREATE TABLE dataset_chunks (
      content_id bigint NOT NULL,
      workspace_id text COLLATE "C" NOT NULL,
      ordinal integer NOT NULL,
      -- number of rows that start in earlier chunks, and the offset of the first row that starts here; null if none does
      rows_before integer NOT NULL,
      row_offset integer,
      data bytea NOT NULL,
      -- the workspace comes first, so that its chunks are found when it is erased
      PRIMARY KEY (workspace_id, content_id, ordinal)
    );
    -- Uncompressed, because compression would take longer than the rest of an upload. PostgreSQL 15 cannot set this in
    -- CREATE TABLE.
    ALTER TABLE dataset_chunks ALTER COLUMN data SET STORAGE EXTERNAL;

    -- The case ids of a file with a case id column. No foreign key, because it would be checked for every case.
    CREATE TABLE dataset_cases (
      content_id bigint NOT NULL,
      workspace_id text COLLATE "C" NOT NULL,
      case_id text COLLATE "C" NOT NULL,
      row_number integer NOT NULL,
      PRIMARY KEY (workspace_id, content_id, case_id)
    );
  `;
}
