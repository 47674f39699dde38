import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * What scorers score as it arrives, and which runs came of it. No row of runs is written anew: reading and writing them
 * are held up for a moment only, because the indexes over them are the next migration's.
 */
export class EvaluationScoringRules1795132801210 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE scoring_rules (
        rule_id text COLLATE "C" PRIMARY KEY,
        org_id text COLLATE "C" NOT NULL,
        workspace_id text COLLATE "C" NOT NULL,
        scorer_id text COLLATE "C" NOT NULL REFERENCES scorers,
        sample_rate double precision NOT NULL
          CONSTRAINT scoring_rules_sample_rate CHECK (sample_rate BETWEEN 0 AND 1),
        filters json NOT NULL,
        grain text NOT NULL CONSTRAINT scoring_rules_grain CHECK (grain IN ('trace', 'session')),
        -- null for that of the grain
        quiet_seconds integer CONSTRAINT scoring_rules_quiet CHECK (quiet_seconds BETWEEN 1 AND 86400),
        enabled boolean NOT NULL,
        generation integer NOT NULL,
        enabled_at timestamptz NOT NULL,
        -- How far it has come in what arrives: microseconds since 1970, and the id of a trace of that moment. It moves
        -- in the transaction that orders the run of what was passed.
        seen_us bigint NOT NULL,
        seen_trace_id text COLLATE "C" NOT NULL DEFAULT '',
        last_seen_at timestamptz,
        seen_count bigint NOT NULL DEFAULT 0,
        chosen_count bigint NOT NULL DEFAULT 0,
        ordered_count bigint NOT NULL DEFAULT 0,
        last_run_at timestamptz,
        last_score_run_id text COLLATE "C",
        last_error text,
        -- a worker is at it until then
        held_until timestamptz,
        created_at timestamptz NOT NULL,
        updated_at timestamptz NOT NULL,
        created_by text NOT NULL,
        archived_at timestamptz,
        bytes integer NOT NULL GENERATED ALWAYS AS (octet_length(filters::text)) STORED
      );
      CREATE INDEX scoring_rules_by_creation ON scoring_rules (workspace_id, scorer_id, rule_id);
      CREATE INDEX scoring_rules_by_update ON scoring_rules (workspace_id, scorer_id, updated_at, rule_id);
      CREATE INDEX scoring_rules_live ON scoring_rules (rule_id) WHERE enabled AND archived_at IS NULL;

      ALTER TABLE score_runs ADD COLUMN rule_id text COLLATE "C";
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE score_runs DROP COLUMN rule_id;
      DROP TABLE scoring_rules;
    `);
  }
}
