import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Scorers, and every version of each. */
export class EvaluationScorers1795132800600 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE scorers (
        scorer_id text COLLATE "C" PRIMARY KEY,
        workspace_id text COLLATE "C" NOT NULL,
        scorer_version integer NOT NULL DEFAULT 1,
        version_id text COLLATE "C" NOT NULL,
        name text NOT NULL,
        description text,
        scorer_kind text NOT NULL
          CONSTRAINT scorers_kind CHECK (scorer_kind IN ('code', 'llm_judge', 'human')),
        grain text NOT NULL CONSTRAINT scorers_grain CHECK (grain IN ('trace', 'session')),
        definition json NOT NULL,
        tags text[] NOT NULL DEFAULT '{}',
        metadata json NOT NULL DEFAULT '{}',
        created_at timestamptz NOT NULL DEFAULT now(),
        updated_at timestamptz NOT NULL DEFAULT now(),
        created_by text NOT NULL,
        archived_at timestamptz,
        search tsvector GENERATED ALWAYS AS (search_words(name || ' ' || coalesce(description, ''))) STORED
      );
      CREATE UNIQUE INDEX scorers_name ON scorers (workspace_id, name) WHERE archived_at IS NULL;
      CREATE INDEX scorers_by_creation ON scorers (workspace_id, scorer_id);
      CREATE INDEX scorers_by_update ON scorers (workspace_id, updated_at, scorer_id);
      CREATE INDEX scorers_by_name ON scorers (workspace_id, (name COLLATE "C"), scorer_id);
      CREATE INDEX scorers_kind_of ON scorers (workspace_id, scorer_kind, scorer_id);
      CREATE INDEX scorers_grain_of ON scorers (workspace_id, grain, scorer_id);
      CREATE INDEX scorers_tags ON scorers USING gin (tags);
      CREATE INDEX scorers_search ON scorers USING gin (search);

      CREATE TABLE scorer_versions (
        scorer_id text COLLATE "C" NOT NULL REFERENCES scorers,
        scorer_version integer NOT NULL,
        version_id text COLLATE "C" NOT NULL,
        workspace_id text COLLATE "C" NOT NULL,
        name text NOT NULL,
        description text,
        scorer_kind text NOT NULL,
        grain text NOT NULL,
        definition json NOT NULL,
        tags text[] NOT NULL,
        metadata json NOT NULL,
        created_at timestamptz NOT NULL,
        created_by text NOT NULL,
        PRIMARY KEY (scorer_id, scorer_version)
      );
      CREATE INDEX scorer_versions_by_creation ON scorer_versions (scorer_id, version_id);
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE scorer_versions, scorers');
  }
}
