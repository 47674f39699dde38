import { bytesOf, SqlMigration } from './sql-migration';

/** Scorers and their versions. */
export class EvaluationScorers1795824000012 extends SqlMigration {
  protected readonly sql = `
    -- Definitions of how to score, each with the content of its newest version.
    CREATE TABLE scorers (
      scorer_id text COLLATE "C" PRIMARY KEY,
      workspace_id text COLLATE "C" NOT NULL,
      scorer_version integer NOT NULL DEFAULT 1,
      version_id text COLLATE "C" NOT NULL,
      name text NOT NULL,
      description text,
      scorer_kind text NOT NULL CONSTRAINT scorers_kind CHECK (scorer_kind IN ('code', 'llm_judge', 'human')),
      grain text NOT NULL CONSTRAINT scorers_grain CHECK (grain IN ('trace', 'session')),
      definition json NOT NULL,
      tags text[] NOT NULL DEFAULT '{}',
      metadata json NOT NULL DEFAULT '{}',
      -- the store item, the release and the publisher's version that a copy was installed from; null for other resources
      acquired_from jsonb,
      generation integer NOT NULL DEFAULT 1,
      created_at timestamptz NOT NULL DEFAULT now(),
      updated_at timestamptz NOT NULL DEFAULT now(),
      created_by text NOT NULL,
      archived_at timestamptz,
      bytes integer NOT NULL GENERATED ALWAYS AS (${bytesOf('description', 'definition', 'metadata')}) STORED,
      search tsvector GENERATED ALWAYS AS (search_words(name || ' ' || coalesce(description, ''))) STORED
    );
    -- the name comes first, because it is more selective, so that the planner does not use this index for lists
    CREATE UNIQUE INDEX scorers_name ON scorers (name, workspace_id) WHERE archived_at IS NULL;
    -- GET /eval/v1/scorers: sorts created_at (archived_at is included, so that totals are counted from the index alone),
    -- updated_at and name, filters scorer_kind, grain, tag and q
    CREATE INDEX scorers_by_creation ON scorers (workspace_id, scorer_id) INCLUDE (archived_at);
    CREATE INDEX scorers_by_update ON scorers (workspace_id, updated_at, scorer_id);
    CREATE INDEX scorers_by_name ON scorers (workspace_id, (name COLLATE "C"), scorer_id);
    CREATE INDEX scorers_by_kind ON scorers (workspace_id, scorer_kind, scorer_id);
    CREATE INDEX scorers_by_grain ON scorers (workspace_id, grain, scorer_id);
    CREATE INDEX scorers_tags ON scorers USING gin (tags);
    CREATE INDEX scorers_search ON scorers USING gin (search);
    -- the copies of a published resource
    CREATE INDEX scorers_acquired ON scorers (workspace_id, (acquired_from ->> 'artifact_id'))
      WHERE acquired_from IS NOT NULL AND archived_at IS NULL;

    -- How each version of a scorer scores. Its name, description, tags and metadata have no versions.
    CREATE TABLE scorer_versions (
      scorer_id text COLLATE "C" NOT NULL REFERENCES scorers ON DELETE CASCADE,
      scorer_version integer NOT NULL,
      version_id text COLLATE "C" NOT NULL,
      workspace_id text COLLATE "C" NOT NULL,
      scorer_kind text NOT NULL,
      grain text NOT NULL,
      definition json NOT NULL,
      created_at timestamptz NOT NULL,
      created_by text NOT NULL,
      bytes integer NOT NULL GENERATED ALWAYS AS (${bytesOf('definition')}) STORED,
      PRIMARY KEY (scorer_id, scorer_version)
    );
    -- a hash index, so that the planner cannot use it for the list of versions, which is in the order of their numbers
    CREATE INDEX scorer_versions_id ON scorer_versions USING hash (version_id);
  `;
}
