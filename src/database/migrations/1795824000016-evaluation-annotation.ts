import { bytesOf, SqlMigration } from './sql-migration';

/** Annotation queues: the items that people score, the claims of these items, and the responses. */
export class EvaluationAnnotation1795824000016 extends SqlMigration {
  protected readonly sql = `
    -- The queues, each with its scorers.
    CREATE TABLE annotation_queues (
      queue_id text COLLATE "C" PRIMARY KEY,
      workspace_id text COLLATE "C" NOT NULL,
      name text NOT NULL,
      description text,
      -- the human scorers, and the version of each that is shown to every person
      scorer_ids text[] NOT NULL,
      scorer_versions integer[] NOT NULL,
      source json NOT NULL,
      -- ids of principals; null for everyone
      assignees text[],
      scores_per_item integer NOT NULL
        CONSTRAINT annotation_queues_scores_per_item CHECK (scores_per_item BETWEEN 1 AND 10),
      item_count integer NOT NULL,
      -- updated with each response, so that no request counts the items
      completed_count integer NOT NULL DEFAULT 0,
      skipped_count integer NOT NULL DEFAULT 0,
      metadata json NOT NULL DEFAULT '{}',
      generation integer NOT NULL,
      created_at timestamptz NOT NULL,
      updated_at timestamptz NOT NULL,
      created_by text NOT NULL,
      archived_at timestamptz,
      bytes integer NOT NULL GENERATED ALWAYS AS (${bytesOf('description', 'source', 'metadata')}) STORED,
      search tsvector GENERATED ALWAYS AS (search_words(name || ' ' || coalesce(description, ''))) STORED
    );
    CREATE UNIQUE INDEX annotation_queues_name ON annotation_queues (workspace_id, (name COLLATE "C"))
      WHERE archived_at IS NULL;
    -- GET /eval/v1/annotation-queues: sorts created_at, updated_at and name, filters name and q
    CREATE INDEX annotation_queues_by_creation ON annotation_queues (workspace_id, queue_id);
    CREATE INDEX annotation_queues_by_update ON annotation_queues (workspace_id, updated_at, queue_id);
    CREATE INDEX annotation_queues_by_name ON annotation_queues (workspace_id, (name COLLATE "C"), queue_id);
    CREATE INDEX annotation_queues_search ON annotation_queues USING gin (search);

    -- The traces or results of a queue, which do not change after its creation. Their ids have the order of work.
    CREATE TABLE annotation_items (
      item_id text COLLATE "C" PRIMARY KEY,
      workspace_id text COLLATE "C" NOT NULL,
      queue_id text COLLATE "C" NOT NULL REFERENCES annotation_queues ON DELETE CASCADE,
      -- set for a trace, and for a result that references one
      trace_id text COLLATE "C",
      session_id text COLLATE "C",
      -- set if the item is a result
      experiment_id text COLLATE "C",
      result_id text COLLATE "C",
      case_id text COLLATE "C",
      item_status text NOT NULL DEFAULT 'pending'
        CONSTRAINT annotation_items_status CHECK (item_status IN ('pending', 'skipped', 'completed')),
      scored_count integer NOT NULL DEFAULT 0,
      skip_count integer NOT NULL DEFAULT 0,
      completed_at timestamptz,
      created_at timestamptz NOT NULL,
      updated_at timestamptz NOT NULL
    );
    -- GET /eval/v1/annotation-queues/{id}/items: filter item_status
    CREATE INDEX annotation_items_of_queue ON annotation_items (queue_id, item_id);
    CREATE INDEX annotation_items_by_status ON annotation_items (queue_id, item_status, item_id);
    -- the items that are about a trace, a session or a result
    CREATE INDEX annotation_items_of_trace ON annotation_items (workspace_id, trace_id) WHERE trace_id IS NOT NULL;
    CREATE INDEX annotation_items_of_session ON annotation_items (workspace_id, session_id) WHERE session_id IS NOT NULL;
    CREATE INDEX annotation_items_of_result ON annotation_items (workspace_id, result_id) WHERE result_id IS NOT NULL;

    -- The places of people who score an item: as many as the queue's scores_per_item. A claim is one conditional update of a
    -- place.
    CREATE TABLE annotation_places (
      item_id text COLLATE "C" NOT NULL REFERENCES annotation_items ON DELETE CASCADE,
      place integer NOT NULL,
      workspace_id text COLLATE "C" NOT NULL,
      queue_id text COLLATE "C" NOT NULL,
      -- who claimed the place, or scored the item in it; an empty author means none
      principal_id text COLLATE "C",
      author text COLLATE "C",
      claimed_until timestamptz,
      -- the version of the result that the claim showed; null for a trace
      result_version integer,
      is_scored boolean NOT NULL DEFAULT false,
      PRIMARY KEY (item_id, place)
    );
    -- the next free place
    CREATE INDEX annotation_places_open ON annotation_places (queue_id, item_id, place) WHERE NOT is_scored;
    -- a person claims one item of a queue at a time
    CREATE UNIQUE INDEX annotation_places_claim ON annotation_places (queue_id, principal_id, author)
      WHERE NOT is_scored AND principal_id IS NOT NULL;
    -- items in progress
    CREATE INDEX annotation_places_claimed ON annotation_places (queue_id, claimed_until)
      WHERE NOT is_scored AND claimed_until IS NOT NULL;

    -- The people who work on a queue. A row is locked while its person claims, scores or skips.
    CREATE TABLE annotation_annotators (
      annotator_no bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
      workspace_id text COLLATE "C" NOT NULL,
      queue_id text COLLATE "C" NOT NULL REFERENCES annotation_queues ON DELETE CASCADE,
      principal_id text COLLATE "C" NOT NULL,
      author text COLLATE "C" NOT NULL,
      scored_count integer NOT NULL DEFAULT 0,
      skipped_count integer NOT NULL DEFAULT 0,
      -- the last item that the person claimed: the next one comes after it
      last_item_id text COLLATE "C" NOT NULL DEFAULT '',
      created_at timestamptz NOT NULL,
      last_active_at timestamptz NOT NULL,
      PRIMARY KEY (queue_id, principal_id, author)
    );
    -- GET /eval/v1/annotation-queues/{id}/annotators
    CREATE INDEX annotation_annotators_by_creation ON annotation_annotators (queue_id, annotator_no);

    -- What a person did with an item. The key makes it unique. A skipped item can still be scored.
    CREATE TABLE annotation_answers (
      item_id text COLLATE "C" NOT NULL REFERENCES annotation_items ON DELETE CASCADE,
      principal_id text COLLATE "C" NOT NULL,
      author text COLLATE "C" NOT NULL,
      workspace_id text COLLATE "C" NOT NULL,
      queue_id text COLLATE "C" NOT NULL,
      outcome text NOT NULL CONSTRAINT annotation_answers_outcome CHECK (outcome IN ('scored', 'skipped')),
      -- why it was skipped
      reason text,
      -- the scores that the person gave, in the order of the queue's scorer_ids
      score_ids text[] COLLATE "C",
      created_at timestamptz NOT NULL,
      PRIMARY KEY (item_id, principal_id, author),
      CONSTRAINT annotation_answers_scores CHECK ((outcome = 'scored') = (score_ids IS NOT NULL))
    );
    -- agreement: the scores of a queue, by item
    CREATE INDEX annotation_answers_scored ON annotation_answers (queue_id, item_id) WHERE outcome = 'scored';
  `;
}
