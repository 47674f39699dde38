import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What people scored. */
export class EvaluationHumanScores1795132800920 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      -- A row never changes but for being superseded, by the row that corrects it.
      CREATE TABLE human_scores (
        score_id text COLLATE "C" PRIMARY KEY,
        workspace_id text COLLATE "C" NOT NULL,
        scorer_id text COLLATE "C" NOT NULL,
        scorer_version integer NOT NULL,
        target_kind text NOT NULL
          CONSTRAINT human_scores_target_kind CHECK (target_kind IN ('trace', 'session', 'result')),
        -- of a score of a result: what the result names, which never changes
        trace_id text COLLATE "C",
        session_id text COLLATE "C",
        experiment_id text COLLATE "C",
        result_id text COLLATE "C",
        target_id text COLLATE "C" NOT NULL GENERATED ALWAYS AS (
          CASE target_kind WHEN 'trace' THEN trace_id WHEN 'session' THEN session_id ELSE result_id END) STORED,
        score double precision NOT NULL,
        -- the answer that the score was computed from: one of these, by the output of the scorer's definition
        choice text,
        value json,
        answers json,
        -- SHA-256 of the definition's output (RFC 8785): scores of one scorer are of one scale where it is the same
        output_sha256 text NOT NULL,
        comment text,
        metadata json NOT NULL DEFAULT '{}',
        supersedes_score_id text COLLATE "C" REFERENCES human_scores,
        superseded_by_score_id text COLLATE "C",
        created_at timestamptz NOT NULL,
        updated_at timestamptz NOT NULL,
        created_by text NOT NULL,
        bytes integer NOT NULL GENERATED ALWAYS AS (
          octet_length(metadata::text) + coalesce(octet_length(answers::text), 0) + coalesce(octet_length(comment), 0)
        ) STORED,
        FOREIGN KEY (scorer_id, scorer_version) REFERENCES scorer_versions,
        CONSTRAINT human_scores_target CHECK (
          (target_kind = 'result') = (result_id IS NOT NULL) AND (result_id IS NULL) = (experiment_id IS NULL)
          AND (target_kind <> 'trace' OR session_id IS NULL) AND (target_kind <> 'session' OR trace_id IS NULL)),
        CONSTRAINT human_scores_answer CHECK (num_nonnulls(choice, value, answers) = 1)
      );
      -- One present score of a person on a target: what landing and agreement read.
      CREATE UNIQUE INDEX human_scores_present
        ON human_scores (workspace_id, scorer_id, target_kind, target_id, created_by)
        WHERE superseded_by_score_id IS NULL;
      CREATE INDEX human_scores_by_creation ON human_scores (workspace_id, score_id);
      CREATE INDEX human_scores_by_update ON human_scores (workspace_id, updated_at, score_id);
      CREATE INDEX human_scores_scorer ON human_scores (workspace_id, scorer_id, score_id);
      CREATE INDEX human_scores_trace ON human_scores (workspace_id, trace_id, score_id) WHERE trace_id IS NOT NULL;
      CREATE INDEX human_scores_session ON human_scores (workspace_id, session_id, score_id) WHERE session_id IS NOT NULL;
      CREATE INDEX human_scores_result ON human_scores (workspace_id, result_id, score_id) WHERE result_id IS NOT NULL;
      CREATE INDEX human_scores_annotator ON human_scores (workspace_id, created_by, score_id);

      -- The experiments that a score is about: with a result that named its target when it was made.
      CREATE TABLE human_score_experiments (
        experiment_id text COLLATE "C" NOT NULL,
        score_id text COLLATE "C" NOT NULL REFERENCES human_scores,
        workspace_id text COLLATE "C" NOT NULL,
        PRIMARY KEY (experiment_id, score_id)
      );

      -- People name a result by its id alone. A hash, so that no list is ever read in its order instead of its own.
      CREATE INDEX results_id ON results USING hash (result_id);
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP INDEX results_id;
      DROP TABLE human_score_experiments, human_scores;
    `);
  }
}
