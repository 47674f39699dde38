import { empty, raw, type Sql, sql } from '#platform/db';
import type { TargetKind } from './score.entity';

/*
 * The scores of results that count. A result has one current score for each scorer name: the newest hosted one of the highest
 * version, else the client's, else people's; never an end user's. `scores.is_current` marks the first two: ScoreRepository
 * keeps it, and an index makes sure that there is one. People's scores are combined when they are read.
 *
 * Lookups leave PostgreSQL no index but the right one, whatever its statistics say, and may be prepared: for a result or an
 * experiment, one that begins with its id, because IS TRUE hides the workspace; for people's scores of a target, the one on
 * `KEY_OF_PEOPLE`. In other statements, the workspace is a subquery, because PostgreSQL expects no rows for a workspace that
 * is not in its statistics, and might choose any index for it. OFFSET 0 keeps further conditions out of a lookup.
 */

/** The results of an experiment whose scores are read. */
export interface ExperimentScores {
  experimentId: string;
  /** The last result, as an expression. Default: all results. */
  upTo?: Sql | undefined;
}

/** The columns of the scores of an experiment's results. `scorer_version` is 0 for none. */
const COLUMNS =
  raw(`result_id, scorer_name, scorer_id, coalesce(scorer_version, 0) AS scorer_version, source, score,
  score_id, is_current, is_late, model, judge_digest`);

/** Selects the scores of an experiment's results by clients and runs that are not superseded. */
export const machineScores = (
  workspaceId: string,
  { experimentId, upTo }: ExperimentScores,
  where = empty,
): Sql =>
  sql`SELECT ${COLUMNS} FROM scores
    WHERE (workspace_id = ${workspaceId}) IS TRUE AND experiment_id = ${experimentId}
      AND superseded_at IS NULL AND source IN ('client', 'hosted') ${upTo ? sql`AND result_id <= ${upTo}` : empty} ${where}`;

/** Orders people's scores of one result and name, the current one first: of the newest scorer, by the highest version. */
export const CURRENT_PEOPLE_FIRST = raw('score_id DESC, scorer_version DESC');

/**
 * Combines people's scores of results: of each person's scores of a result, its trace and its session, the newest counts.
 * Scores by versions with the same output share a scale, and are one row with the highest of these versions. `score_id` is
 * that of the scorer's newest score.
 *
 * @param given selects the people's scores, each with its `of_result_id`
 */
const peopleOf = (given: Sql, details: Sql = empty): Sql =>
  sql`SELECT of_result_id AS result_id, (array_agg(scorer_name ORDER BY score_id DESC))[1] AS scorer_name, scorer_id,
      max(scorer_version) AS scorer_version, 'human' AS source,
      CASE WHEN abs(avg(score::text::numeric)) < 2.5e-324 THEN 0 ELSE avg(score::text::numeric)::float8 END AS score,
      max(max(score_id)) OVER (PARTITION BY of_result_id, scorer_id) AS score_id, false AS is_current, bool_or(is_late) AS is_late, NULL::text AS model,
      NULL::text AS judge_digest ${details}
    FROM (SELECT DISTINCT ON (of_result_id, scorer_id, output_sha256, created_by, author) * FROM (${given}) given
          ORDER BY of_result_id, scorer_id, output_sha256, created_by, author, score_id DESC) newest
    GROUP BY of_result_id, scorer_id, output_sha256
    HAVING count(*) >= (array_agg(min_annotations ORDER BY score_id DESC))[1]`;

/** The key of a target in the index on people's scores, for one of them or for a target of these columns. */
const KEY_OF_PEOPLE = raw("people.workspace_id || ' ' || people.target_kind || ' ' || people.target_id");
const keyOf = (workspaceId: string, kind: TargetKind, id: Sql): Sql =>
  sql`${`${workspaceId} ${kind} `} || ${id}`;

const IS_CURRENT_OF_PEOPLE = raw("people.source = 'human' AND people.superseded_at IS NULL");

/** Selects people's scores of targets: rows with the `result_id` that names the target, and the `key` of the target. */
const peopleGaveTo = (targets: Sql, isLate: Sql): Sql =>
  sql`SELECT target.result_id AS of_result_id, s.scorer_id, s.scorer_name, s.scorer_version, s.output_sha256, s.min_annotations,
      s.created_by, s.author, s.score, s.label, s.comment, s.score_id, ${isLate} AS is_late
    FROM ${targets} AS target(result_id, key) CROSS JOIN LATERAL (
      SELECT * FROM scores people WHERE ${KEY_OF_PEOPLE} = target.key AND ${IS_CURRENT_OF_PEOPLE} OFFSET 0) s`;

/** Whether people have scored one of the targets. @param keys an array, see `keyOf` */
export const peopleScored = (keys: Sql): Sql =>
  sql`EXISTS (SELECT FROM scores people WHERE ${KEY_OF_PEOPLE} = ANY (${keys}) AND ${IS_CURRENT_OF_PEOPLE})`;

/** Whether people have scored anything in the workspace, or a trace or a session. As a subquery, it is read once. */
export const hasPeople = (workspaceId: string, { ofResults = true } = {}): Sql =>
  sql`EXISTS (SELECT FROM scores people WHERE ${KEY_OF_PEOPLE} > ${`${workspaceId} ${ofResults ? '' : 'session'}`}
    AND ${KEY_OF_PEOPLE} < ${`${workspaceId}!`} AND ${IS_CURRENT_OF_PEOPLE})`;

/** Whether people have given current scores under a name, of any target, or of one that `where` names by `experiment_id`. */
const hasPeopleNamed = (workspaceId: string, name: Sql, where = empty): Sql =>
  sql`EXISTS (SELECT FROM scores people WHERE people.workspace_id || ' ' || people.scorer_name = ${`${workspaceId} `} || ${name}
    ${where} AND ${IS_CURRENT_OF_PEOPLE})`;

/** Whether people's scores under a name may count for results of an experiment. */
export const mayHavePeople = (workspaceId: string, experimentId: string, scorer: string): Sql =>
  sql`${hasPeopleNamed(workspaceId, sql`${scorer}`, sql`AND people.experiment_id = ${experimentId}`)}
    OR ${hasPeopleNamed(workspaceId, sql`${scorer}`, raw('AND people.experiment_id IS NULL'))}`;

/** The label of more than half of the people, as in agreement. Null in a tie. */
const PEOPLE_DETAILS = raw(`, (SELECT label_of_one FROM unnest(array_agg(label)) AS given(label_of_one)
     GROUP BY label_of_one HAVING 2 * count(*) > count(label)) AS label,
  (array_agg(comment ORDER BY score_id DESC) FILTER (WHERE comment IS NOT NULL))[1] AS comment,
  json_build_object('annotation_count', count(*),
                    'score_ids', (array_agg(score_id ORDER BY score_id DESC))[1:100]) AS metadata`);

/** Selects people's scores of results, combined. @param results a FROM item with `result_id`, `trace_id` and `session_id` */
export const peopleOfResults = (workspaceId: string, results: Sql, { details = false } = {}): Sql =>
  peopleOf(
    peopleGaveTo(
      sql`(SELECT r.result_id, name.key FROM ${results} r CROSS JOIN LATERAL (VALUES
        (${keyOf(workspaceId, 'result', raw('r.result_id'))}), (${keyOf(workspaceId, 'trace', raw('r.trace_id'))}),
        (${keyOf(workspaceId, 'session', raw('r.session_id'))})) AS name(key) WHERE name.key IS NOT NULL)`,
      raw('s.is_late'),
    ),
    details ? PEOPLE_DETAILS : empty,
  );

/** Selects people's scores of an experiment's results, combined. */
export function peopleOfExperiment(workspaceId: string, { experimentId, upTo }: ExperimentScores): Sql {
  const within = upTo ? sql`AND result_id <= ${upTo}` : empty;
  const workspace = sql`workspace_id = (SELECT ${workspaceId}::text) AND experiment_id = ${experimentId}`;
  const scored = sql`(SELECT result_id, ${keyOf(workspaceId, 'result', raw('result_id'))} FROM scores WHERE ${workspace} ${within}
    AND source = 'human' AND superseded_at IS NULL GROUP BY result_id OFFSET 0)`;
  // Only results can name traces and sessions, so they are read. Skipped in a workspace without such scores.
  const named = sql`(SELECT result_id, name.key
    FROM results CROSS JOIN LATERAL (VALUES (${keyOf(workspaceId, 'trace', raw('trace_id'))}),
      (${keyOf(workspaceId, 'session', raw('session_id'))})) AS name(key)
    WHERE ${workspace} ${within} AND name.key IS NOT NULL
      AND (SELECT ${hasPeople(workspaceId, { ofResults: false })}) OFFSET 0)`;
  const finalizedAt = sql`(SELECT finalized_at FROM experiments WHERE ${workspace})`;
  return peopleOf(
    sql`${peopleGaveTo(scored, raw('s.is_late'))}
      UNION ALL ${peopleGaveTo(named, sql`coalesce(s.created_at > ${finalizedAt}, false)`)}`,
  );
}

/** Whether a client or a run has given the current score of a result under a name. */
const isMachine = (workspaceId: string, resultId: Sql, scorer: Sql, bounds: Sql = empty): Sql =>
  sql`EXISTS (SELECT FROM scores machine WHERE machine.result_id = ${resultId} AND machine.scorer_name = ${scorer}
    AND machine.is_current AND (machine.workspace_id = ${workspaceId}) IS TRUE ${bounds} OFFSET 0)`;

/** Selects people's scores of an experiment's results that are current. */
const currentOfPeople = (workspaceId: string, scores: ExperimentScores): Sql =>
  sql`SELECT * FROM (
      SELECT DISTINCT ON (result_id, scorer_name) * FROM (${peopleOfExperiment(workspaceId, scores)}) people
      ORDER BY result_id, scorer_name, ${CURRENT_PEOPLE_FIRST}) people
    WHERE NOT ${isMachine(workspaceId, raw('people.result_id'), raw('people.scorer_name'))}`;

/** Selects the current scores of an experiment's results. */
export const currentScores = (workspaceId: string, scores: ExperimentScores): Sql =>
  sql`${machineScores(workspaceId, scores, raw('AND is_current'))} UNION ALL ${currentOfPeople(workspaceId, scores)}`;

/** A condition on a current score. */
export interface ScoreCondition {
  scorer: string;
  /** Conditions on `score`, each after AND. */
  bounds: Sql;
}

/** Whether the current score of a result under a name is a number within bounds. @param result alias of the result */
export const hasScore = (workspaceId: string, result: string, { scorer, bounds }: ScoreCondition): Sql => {
  const name = sql`${scorer}::text`;
  const id = raw(`${result}.result_id`);
  const people = peopleOfResults(
    workspaceId,
    raw(`(SELECT ${result}.result_id, ${result}.trace_id, ${result}.session_id)`),
  );
  return sql`(${isMachine(workspaceId, id, name, sql`AND machine.score IS NOT NULL ${bounds}`)} OR (
      (SELECT ${hasPeopleNamed(workspaceId, name)}) AND NOT ${isMachine(workspaceId, id, name)}
      AND EXISTS (SELECT FROM (
          SELECT score FROM (${people}) people WHERE scorer_name = ${name} ORDER BY ${CURRENT_PEOPLE_FIRST} LIMIT 1) current
        WHERE score IS NOT NULL ${bounds} OFFSET 0)))`;
};

/**
 * Selects the results of an experiment whose current score under a name is a number within bounds: rows with `result_id` and
 * `score`, in the order of their scores.
 *
 * @param withPeople whether people's scores are read, see `mayHavePeople`
 */
export function sortedScores(
  workspaceId: string,
  experimentId: string,
  { scorer, bounds }: ScoreCondition,
  { descending, withPeople }: { descending: boolean; withPeople: boolean },
): Sql {
  const direction = raw(descending ? 'DESC' : 'ASC');
  const order = sql`ORDER BY score ${direction}, result_id ${direction}`;
  const machine = sql`SELECT result_id, score FROM scores
    WHERE (workspace_id = ${workspaceId}) IS TRUE AND experiment_id = ${experimentId} AND scorer_name = ${scorer}
      AND is_current AND score IS NOT NULL ${bounds}`;
  if (!withPeople) return machine;
  return sql`(${machine} ${order}) UNION ALL (
    SELECT result_id, score FROM (${currentOfPeople(workspaceId, { experimentId })}) current
    WHERE scorer_name = ${scorer} AND score IS NOT NULL ${bounds} ${order})`;
}

/** The size of the current scores of a result, in bytes. For the limit of a page. @param result alias of the result */
export const bytesOfScores = (workspaceId: string, result: string): Sql =>
  sql`(SELECT coalesce(sum(own.bytes), 0) FROM scores own WHERE own.result_id = ${raw(result)}.result_id AND own.is_current
    AND (own.workspace_id = ${workspaceId}) IS TRUE)`;
