import {
  type BackfillStep,
  type Migration,
  type NamedStep,
  stepsOf,
} from '../../src/database/migrations/migration';

/** The release after this one, in tests, and the one after that. */
export const NEXT = '1000.1.0';
export const LATER = '1000.2.0';

/**
 * Changes of the next release: scores have the day of their creation. A trigger fills the column for processes of this release,
 * which do not know it, so that the next one finds their scores by day.
 */
const SCORE_DAYS: Migration = {
  name: '9000000000001-score-days',
  release: NEXT,
  steps: [
    {
      kind: 'expand',
      locks: { scores: 'ACCESS EXCLUSIVE' },
      sql: `
        ALTER TABLE scores ADD COLUMN day date;
        CREATE FUNCTION set_score_day() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
          NEW.day := coalesce(NEW.day, (NEW.created_at AT TIME ZONE 'UTC')::date);
          RETURN NEW;
        END $$;
        CREATE TRIGGER score_day BEFORE INSERT ON scores FOR EACH ROW EXECUTE FUNCTION set_score_day();
      `,
    },
    {
      kind: 'index',
      table: 'scores',
      name: 'scores_by_day',
      definition: '(workspace_id, day, score_id) WHERE day IS NOT NULL',
    },
    { kind: 'index', table: 'spans', name: 'spans_by_day', definition: '(day, started_at)' },
    {
      kind: 'backfill',
      table: 'scores',
      key: ['workspace_id', 'score_id'],
      sql: `
        UPDATE scores SET day = (created_at AT TIME ZONE 'UTC')::date FROM batch
        WHERE scores.workspace_id = batch.workspace_id AND scores.score_id = batch.score_id AND day IS NULL
      `,
    },
  ],
};

/** A change of the release after it: the trigger goes, because every supported release sets the column. */
const SCORE_DAYS_ONLY: Migration = {
  name: '9000000000002-score-days-only',
  release: LATER,
  steps: [
    {
      kind: 'contract',
      oldestRelease: NEXT,
      locks: { scores: 'ACCESS EXCLUSIVE' },
      sql: `
        DROP TRIGGER score_day ON scores;
        DROP FUNCTION set_score_day();
      `,
    },
  ],
};

export const NEXT_MIGRATIONS: readonly Migration[] = [SCORE_DAYS];
export const LATER_MIGRATIONS: readonly Migration[] = [SCORE_DAYS, SCORE_DAYS_ONLY];

/** Inserts scores of traces, `count` of them. */
export const INSERT_SCORES = (count: number): string => `
  INSERT INTO scores (score_id, workspace_id, scorer_name, score, source, target_kind, trace_id, created_at, created_by)
  SELECT 'score_' || lpad(n::text, 8, '0'), 'wsp_' || n % 3, 'name', n % 2, 'client', 'trace', 'trace' || n,
    now() - n * interval '1 minute', 'somebody'
  FROM generate_series(1, ${count}) n`;

/** The step that fills the column of existing scores. */
export const BACKFILL = stepsOf(NEXT_MIGRATIONS).find(
  ({ step }) => step.kind === 'backfill',
) as NamedStep<BackfillStep>;
