import { bytesOf, SqlMigration } from './sql-migration';

/** The scores of clients, hosted scoring, people and end users. */
export class EvaluationScores1795824000013 extends SqlMigration {
  protected readonly sql = `
    -- One row for each score, whoever gave it. Rows never change, except that they are superseded.
    CREATE TABLE scores (
      -- the columns that comparisons and summaries read of every score are first, where PostgreSQL finds them sooner
      -- whether it is the score that its result shows under this name; never set for people's scores, which are combined
      is_current boolean NOT NULL DEFAULT false,
      -- whether the experiment of the scored result was finalized before
      is_late boolean NOT NULL DEFAULT false,
      -- null if the score names no scorer, or an unknown version
      scorer_version integer,
      -- null: the scorer gave no score on purpose
      score double precision,
      score_id text COLLATE "C" NOT NULL,
      workspace_id text COLLATE "C" NOT NULL,
      -- null if the score names no scorer, like its kind, and its version
      scorer_id text COLLATE "C",
      scorer_kind text,
      -- the scorer's name when the score was given
      scorer_name text COLLATE "C" NOT NULL,
      source text NOT NULL CONSTRAINT scores_source CHECK (source IN ('client', 'hosted', 'human', 'end_user')),
      target_kind text NOT NULL CONSTRAINT scores_target_kind CHECK (target_kind IN ('trace', 'session', 'result')),
      -- for a score of a result, the trace and session of the result, which never change
      trace_id text COLLATE "C",
      session_id text COLLATE "C",
      experiment_id text COLLATE "C",
      result_id text COLLATE "C",
      -- the version of the scored result
      result_version integer,
      case_id text COLLATE "C",
      -- the span of an evaluation event
      span_id text,
      target_id text COLLATE "C" NOT NULL GENERATED ALWAYS AS (
        CASE target_kind WHEN 'trace' THEN trace_id WHEN 'session' THEN session_id ELSE result_id END) STORED,
      -- what agreement compares: the trace, else the session, else the result
      unit_id text COLLATE "C" NOT NULL GENERATED ALWAYS AS (coalesce(trace_id, session_id, result_id)) STORED,
      label text,
      answers json,
      comment text,
      metadata json NOT NULL DEFAULT '{}',
      -- distinguishes the people or systems behind one principal
      author text COLLATE "C",
      score_run_id text COLLATE "C",
      -- the judge of a hosted score: its model as the provider answered it, and a digest of everything that identifies it
      model text,
      judge_digest text,
      -- whether a hosted scorer saw only a part of a transcript
      is_truncated boolean NOT NULL DEFAULT false,
      -- SHA-256 of the output of a human scorer's definition (RFC 8785); scores with equal hashes have the same scale
      output_sha256 text,
      -- how many people must have scored a result before their scores count, by the definition that the person answered
      min_annotations integer,
      -- identifies an evaluation event: the first 128 bits of a SHA-256 over its trace, span, name and time
      event_key uuid,
      supersedes_score_id text COLLATE "C",
      superseded_by_score_id text COLLATE "C",
      -- Null for a current score. A hosted score also supersedes the client's scores of its name and result. Also set for the
      -- scores of a result that was replaced, which no score supersedes.
      superseded_at timestamptz,
      created_at timestamptz NOT NULL,
      created_by text COLLATE "C" NOT NULL,
      bytes integer NOT NULL GENERATED ALWAYS AS (${bytesOf('metadata', 'answers', 'comment')}) STORED,
      PRIMARY KEY (workspace_id, score_id),
      CONSTRAINT scores_target CHECK (
        (target_kind = 'result') = (result_id IS NOT NULL) AND (result_id IS NULL) = (experiment_id IS NULL)
        AND (target_kind <> 'session' OR trace_id IS NULL))
    );
    -- GET /eval/v1/scores: filters, with and without superseded scores. For a result, also the score that a new one supersedes
    CREATE INDEX scores_trace ON scores (workspace_id, trace_id, score_id) WHERE trace_id IS NOT NULL;
    CREATE INDEX scores_session ON scores (workspace_id, session_id, score_id) WHERE session_id IS NOT NULL;
    CREATE INDEX scores_result ON scores (workspace_id, result_id, score_id) WHERE result_id IS NOT NULL;
    CREATE INDEX scores_experiment ON scores (workspace_id, experiment_id, score_id) WHERE experiment_id IS NOT NULL;
    CREATE INDEX scores_scorer ON scores (workspace_id, scorer_id, score_id) WHERE scorer_id IS NOT NULL;
    CREATE INDEX scores_name ON scores (workspace_id, scorer_name, score_id);
    CREATE INDEX scores_author ON scores (workspace_id, author, score_id) WHERE author IS NOT NULL;
    CREATE INDEX scores_creator ON scores (workspace_id, created_by, score_id);
    CREATE INDEX scores_run ON scores (workspace_id, score_run_id, score_id) WHERE score_run_id IS NOT NULL;
    -- the same list, sorted by score. Also the traces with a score within bounds, of one source or of any
    CREATE INDEX scores_name_by_score ON scores (workspace_id, scorer_name, score, score_id, source)
      WHERE superseded_at IS NULL AND score IS NOT NULL;
    -- the same list without a name. An expression, because statements about one name would otherwise read it as well
    CREATE INDEX scores_by_score ON scores ((workspace_id || ''), score, score_id)
      WHERE superseded_at IS NULL AND score IS NOT NULL;
    CREATE INDEX scores_scorer_by_score ON scores (workspace_id, scorer_id, score, score_id)
      WHERE superseded_at IS NULL AND score IS NOT NULL AND scorer_id IS NOT NULL;
    -- the score of a trace or a session that a new one supersedes
    CREATE INDEX scores_current ON scores (workspace_id, target_id, created_by, author)
      WHERE superseded_at IS NULL AND result_id IS NULL;
    -- With any statistics, PostgreSQL uses these indexes for their lookups. IS NOT NULL keeps other statements from using
    -- them: while the table is almost empty, PostgreSQL reads all of an index whose condition a statement implies.
    -- one current score for a result and a name; the results that have a score within bounds
    CREATE UNIQUE INDEX scores_current_of_result ON scores (result_id, scorer_name)
      WHERE is_current AND result_id IS NOT NULL;
    -- the current scores of an experiment, also in their order
    CREATE INDEX scores_current_of_experiment ON scores (experiment_id, scorer_name, score, result_id, workspace_id)
      WHERE is_current AND experiment_id IS NOT NULL;
    -- comparisons: the scores of an experiment by any version
    CREATE INDEX scores_of_experiment ON scores (experiment_id, scorer_name, result_id)
      WHERE superseded_at IS NULL AND experiment_id IS NOT NULL AND source IN ('client', 'hosted');
    CREATE INDEX scores_late ON scores (workspace_id, experiment_id) INCLUDE (score_id, superseded_by_score_id) WHERE is_late;
    -- people's scores of results, and of the traces and sessions that results name
    CREATE INDEX scores_human_by_target ON scores ((workspace_id || ' ' || target_kind || ' ' || target_id))
      WHERE source = 'human' AND superseded_at IS NULL AND target_id IS NOT NULL;
    CREATE INDEX scores_human_of_experiment ON scores (workspace_id, experiment_id, result_id)
      WHERE source = 'human' AND superseded_at IS NULL AND experiment_id IS NOT NULL;
    CREATE INDEX scores_human_by_name ON scores ((workspace_id || ' ' || scorer_name), experiment_id)
      WHERE source = 'human' AND superseded_at IS NULL AND scorer_name IS NOT NULL;
    -- comparisons: the newest score of a trace or a session by a person
    CREATE INDEX scores_human_of_trace ON scores (workspace_id, score_id)
      WHERE source = 'human' AND superseded_at IS NULL AND result_id IS NULL;
    -- agreement: the newest human scores of a scorer, and its other scores. Only for statements that name a scorer, because
    -- without statistics PostgreSQL would use these indexes for any condition
    CREATE INDEX scores_human_newest ON scores (workspace_id, scorer_id, score_id)
      WHERE source = 'human' AND superseded_at IS NULL AND scorer_id IS NOT NULL;
    CREATE INDEX scores_others_newest ON scores (workspace_id, scorer_id, score_id)
      WHERE source IN ('client', 'hosted') AND superseded_at IS NULL AND scorer_id IS NOT NULL;
    -- agreement: the scores of a scorer for given units
    CREATE INDEX scores_unit ON scores (workspace_id, scorer_id, unit_id, score_id)
      WHERE source <> 'end_user' AND superseded_at IS NULL AND scorer_id IS NOT NULL;
    -- one current score per version of a scorer and target, whoever ordered it
    CREATE UNIQUE INDEX scores_hosted ON scores (workspace_id, scorer_id, scorer_version, target_kind, target_id)
      WHERE source = 'hosted' AND superseded_at IS NULL;
    -- unscored_only: the newest score by a judge
    CREATE INDEX scores_judged ON scores (workspace_id, scorer_id, scorer_version, score_id) WHERE judge_digest IS NOT NULL;
    -- retention: the scores of traces and sessions
    CREATE INDEX scores_by_age ON scores (workspace_id, score_id) WHERE result_id IS NULL;
    CREATE UNIQUE INDEX scores_event ON scores (workspace_id, event_key) WHERE event_key IS NOT NULL;
  `;
}
