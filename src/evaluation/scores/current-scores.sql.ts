import { empty, raw, type Sql, sql } from '#platform/db';
import { RawJson } from '#platform/json';

/*
 * Decides which scores of a result are current. A result has one current score for each scorer name: the newest hosted one of
 * the highest version, else the client's, else people's; never an end user's. Results, exports, summaries, comparisons and
 * gates read the statements of this file.
 *
 * Its rows have these columns: result_id, scorer_name, scorer_id, scorer_version (0 for none), source, score, score_id, is_late
 * (given after the experiment was finalized), model and judge_digest; with details also label, comment and metadata.
 *
 * Statements are not prepared, because a plan made for small tables would read all scores of large ones. The workspace is a
 * subquery, because PostgreSQL expects no rows for a workspace that is not in its statistics, and might choose any index for
 * it. OFFSET 0 keeps further conditions out of a lookup for the same reason.
 */

/** Orders the scores of one result and name, the current one first. */
export const CURRENT_FIRST = raw(`source = 'human', source = 'client', scorer_version DESC, score_id DESC`);

/** Selects scores by clients and runs. @param where conditions on `s`, without its workspace */
const machineScores = (workspaceId: string, where: Sql, details: boolean): Sql =>
  sql`SELECT s.result_id, s.scorer_name, s.scorer_id, coalesce(s.scorer_version, 0) AS scorer_version, s.source, s.score,
      s.score_id, s.is_late, s.model, s.judge_digest ${details ? MACHINE_DETAILS : empty}
    FROM (SELECT * FROM scores own WHERE own.workspace_id = (SELECT ${workspaceId}::text) AND ${where}
            AND own.superseded_at IS NULL AND own.source IN ('client', 'hosted') OFFSET 0) s`;

const MACHINE_DETAILS = raw(`, s.label, s.comment, CASE
  WHEN s.source = 'hosted' AND s.answers IS NULL THEN json_build_object('score_run_id', s.score_run_id)
  WHEN s.source = 'hosted' THEN json_build_object('score_run_id', s.score_run_id, 'answers', s.answers)
  WHEN s.metadata::text <> '{}' THEN s.metadata END AS metadata`);

/**
 * Combines people's scores of results: each person's newest score counts, of the result, its trace or its session. Scores by
 * versions with the same output share a scale, and are one row with the highest of these versions.
 *
 * @param given selects the people's scores, each with its `of_result_id`
 */
const peopleOf = (given: Sql, details: boolean): Sql =>
  sql`SELECT of_result_id AS result_id, (array_agg(scorer_name ORDER BY score_id DESC))[1] AS scorer_name, scorer_id,
      max(scorer_version) AS scorer_version, 'human' AS source,
      CASE WHEN abs(avg(score::text::numeric)) < 2.5e-324 THEN 0 ELSE avg(score::text::numeric)::float8 END AS score,
      max(score_id) AS score_id, bool_or(is_late) AS is_late, NULL::text AS model, NULL::text AS judge_digest
      ${details ? PEOPLE_DETAILS : empty}
    FROM (SELECT DISTINCT ON (of_result_id, scorer_id, output_sha256, created_by, author) * FROM (${given}) given
          ORDER BY of_result_id, scorer_id, output_sha256, created_by, author, score_id DESC) newest
    GROUP BY of_result_id, scorer_id, output_sha256
    HAVING count(*) >= (array_agg(min_annotations ORDER BY score_id DESC))[1]`;

/** The label that most people chose. Null in a tie, in which the two orders find different labels. */
const PEOPLE_DETAILS =
  raw(`, CASE WHEN mode() WITHIN GROUP (ORDER BY label) = mode() WITHIN GROUP (ORDER BY label DESC)
    THEN mode() WITHIN GROUP (ORDER BY label) END AS label,
  (array_agg(comment ORDER BY score_id DESC) FILTER (WHERE comment IS NOT NULL))[1] AS comment,
  json_build_object('annotation_count', count(*),
                    'score_ids', (array_agg(score_id ORDER BY score_id DESC))[1:100]) AS metadata`);

/** Selects people's scores of targets: rows with the `result_id` that names the target, its `kind` and `id`. */
const peopleGaveTo = (workspaceId: string, targets: Sql, isLate: Sql): Sql =>
  sql`SELECT target.result_id AS of_result_id, s.scorer_id, s.scorer_name, s.scorer_version, s.output_sha256, s.min_annotations,
      s.created_by, s.author, s.score, s.label, s.comment, s.score_id, ${isLate} AS is_late
    FROM ${targets} AS target(result_id, kind, id) CROSS JOIN LATERAL (
      SELECT * FROM scores own WHERE own.workspace_id = (SELECT ${workspaceId}::text) AND own.target_id = target.id
        AND own.source = 'human' AND own.superseded_at IS NULL OFFSET 0
    ) s WHERE s.target_kind = target.kind`;

/** Selects all scores of a result that may be current. @param result alias of a row with `result_id`, `trace_id` and `session_id` */
export function scoresOfResult(workspaceId: string, result: string, { details = false } = {}): Sql {
  const targets = raw(`(VALUES (${result}.result_id, 'result', ${result}.result_id),
    (${result}.result_id, 'trace', ${result}.trace_id), (${result}.result_id, 'session', ${result}.session_id))`);
  const people = peopleGaveTo(workspaceId, targets, raw('s.is_late'));
  return sql`${machineScores(workspaceId, sql`own.result_id = ${raw(result)}.result_id`, details)}
    UNION ALL ${peopleOf(sql`${people} AND (SELECT ${hasPeople(workspaceId, raw('true'))})`, details)}`;
}

/** Whether people have scored anything in the workspace. Read once by a statement, which then skips all further lookups. */
export const hasPeople = (workspaceId: string, where: Sql): Sql =>
  sql`EXISTS (SELECT FROM scores people WHERE people.workspace_id = (SELECT ${workspaceId}::text) AND people.source = 'human'
    AND people.superseded_at IS NULL AND ${where})`;

/** The results of an experiment whose scores are read, and a condition on the name of their scorer. */
export interface ExperimentScores {
  experimentId: string;
  /** The last result, as an expression. Default: all results. */
  upTo?: Sql;
  /** The name of the scorer, as an expression. Default: all scorers. */
  scorer?: Sql;
}

/** Selects the scores of an experiment's results by clients and runs. */
export const machineScoresOfExperiment = (
  workspaceId: string,
  { experimentId, upTo, scorer }: ExperimentScores,
): Sql =>
  machineScores(
    workspaceId,
    sql`own.experiment_id = ${experimentId} ${scorer ? sql`AND own.scorer_name = ${scorer}` : empty}
      ${upTo ? sql`AND own.result_id <= ${upTo}` : empty}`,
    false,
  );

/** Selects people's scores of an experiment's results, combined. */
export function peopleOfExperiment(workspaceId: string, { experimentId, upTo }: ExperimentScores): Sql {
  const within = upTo ? sql`AND result_id <= ${upTo}` : empty;
  const workspace = sql`workspace_id = (SELECT ${workspaceId}::text) AND experiment_id = ${experimentId}`;
  const scored = sql`(SELECT result_id, 'result', result_id FROM scores WHERE ${workspace} ${within}
    AND source = 'human' AND superseded_at IS NULL GROUP BY result_id OFFSET 0)`;
  // Only results can name traces and sessions, so they are read. Skipped in a workspace without such scores.
  const named = sql`(SELECT result_id, name.kind, name.id
    FROM results CROSS JOIN LATERAL (VALUES ('trace', trace_id), ('session', session_id)) AS name(kind, id)
    WHERE ${workspace} ${within} AND name.id IS NOT NULL
      AND (SELECT ${hasPeople(workspaceId, raw('people.result_id IS NULL'))}) OFFSET 0)`;
  const finalizedAt = sql`(SELECT finalized_at FROM experiments WHERE ${workspace})`;
  return peopleOf(
    sql`${peopleGaveTo(workspaceId, scored, raw('s.is_late'))}
      UNION ALL ${peopleGaveTo(workspaceId, named, sql`coalesce(s.created_at > ${finalizedAt}, false)`)}`,
    false,
  );
}

/** Selects the current scores of an experiment's results. */
export const currentScoresOfExperiment = (workspaceId: string, scores: ExperimentScores): Sql =>
  sql`SELECT DISTINCT ON (scorer_name, result_id) * FROM (
      ${machineScoresOfExperiment(workspaceId, scores)} UNION ALL ${peopleOfExperiment(workspaceId, scores)}
    ) candidate ORDER BY scorer_name, result_id, ${CURRENT_FIRST}`;

/** The current scores of a result, as its view shows them. */
export interface ShownScores {
  /** Scorer name to number, or null if the scorer gave none. */
  scores: RawJson;
  /** Scorer name to the other members of the score, without those that are null. */
  score_details: RawJson;
}

/** Separates the two JSON texts of `shownScores`. A control character, which no JSON text contains. */
const SEPARATOR = '\x1F';

/**
 * The current scores of a result as one text, for `readShownScores`.
 *
 * @param result alias of a row with `result_id`, `trace_id` and `session_id`
 */
export const shownScores = (workspaceId: string, result: string): Sql =>
  sql`(SELECT coalesce(json_object_agg(scorer_name, score), '{}')::text || ${SEPARATOR} ||
        coalesce(json_object_agg(scorer_name, detail) FILTER (WHERE detail IS NOT NULL), '{}')::text
      FROM (
        SELECT scorer_name, score, (
          SELECT json_object_agg(member.name, member.value)
          FROM (VALUES ('metadata', metadata), ('comment', to_json(comment)), ('label', to_json(label)),
                       ('scorer_id', to_json(scorer_id)), ('scorer_version', to_json(nullif(scorer_version, 0)))
               ) AS member(name, value) WHERE member.value IS NOT NULL) AS detail
        FROM (
          SELECT DISTINCT ON (scorer_name) * FROM (${scoresOfResult(workspaceId, result, { details: true })}) candidate
          ORDER BY scorer_name, ${CURRENT_FIRST}
        ) current
      ) shown)`;

export function readShownScores(text: string): ShownScores {
  const [scores, details] = text.split(SEPARATOR);
  return { scores: new RawJson(scores!), score_details: new RawJson(details!) };
}

/** The size of a result's current scores and of those that they hide, in bytes. For the limit of a page. */
export const bytesOfScores = (workspaceId: string, result: string): Sql =>
  sql`(SELECT coalesce(sum(own.bytes), 0) FROM scores own WHERE own.workspace_id = (SELECT ${workspaceId}::text)
    AND own.result_id = ${raw(result)}.result_id AND own.superseded_at IS NULL)`;

/** Whether the current score of a result under a name is a number, within bounds on `score`. */
export const hasScore = (workspaceId: string, result: string, scorer: string, bounds: Sql): Sql =>
  sql`EXISTS (SELECT FROM (
      SELECT score FROM (${scoresOfResult(workspaceId, result)}) candidate WHERE scorer_name = ${scorer}
      ORDER BY ${CURRENT_FIRST} LIMIT 1) current
    WHERE score IS NOT NULL ${bounds} OFFSET 0)`;

/**
 * Selects the results of an experiment whose current score under a name is a number within bounds on `score`: rows with
 * `result_id` and `score`, in the order of an index if only clients and runs gave the scores.
 */
export function sortedScores(workspaceId: string, experimentId: string, scorer: string, bounds: Sql): Sql {
  const machine = sql`SELECT * FROM (
    ${machineScores(workspaceId, raw('own.result_id = one.result_id'), false)}) candidate WHERE scorer_name = ${scorer}`;
  return sql`SELECT result_id, score FROM scores one
    WHERE workspace_id = (SELECT ${workspaceId}::text) AND experiment_id = ${experimentId} AND scorer_name = ${scorer}
      AND score IS NOT NULL AND superseded_at IS NULL AND source IN ('client', 'hosted') ${bounds}
      AND score_id = (SELECT score_id FROM (${machine}) machine ORDER BY ${CURRENT_FIRST} LIMIT 1)
    UNION ALL
    SELECT result_id, score FROM (
      SELECT DISTINCT ON (result_id) * FROM (${peopleOfExperiment(workspaceId, { experimentId })}) people
      WHERE scorer_name = ${scorer} ORDER BY result_id, ${CURRENT_FIRST}) one
    WHERE score IS NOT NULL ${bounds} AND NOT EXISTS (${machine} OFFSET 0)`;
}
