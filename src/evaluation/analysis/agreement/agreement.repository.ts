import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { arrayParameter, Database, empty, prepared, raw, type Sql, sql } from '#platform/db';

/** Units measured, at most. */
export const UNITS_MAX = 10_000;
/** Newest results with score details that are searched for scores written by clients. */
const RESULTS_SCANNED = 10_000;
/** Scores searched for the newest units. The second number applies if units were scored repeatedly. */
const SCORES_SCANNED = [UNITS_MAX, 100_000];
/** Newest annotations read for given units. */
const ANNOTATIONS_MAX = 100_000;

/** The rated object: a trace if there is one, else a session, else a result. */
export interface Unit {
  unit_kind: 'trace' | 'session' | 'result';
  unit_id: string;
}

/** A unit that a scorer rated. */
export interface RatedUnit extends Unit {
  /** The id of the newest score, or of the result that contains it. Ids sort by time after the prefix. */
  id: string;
}

/** A scorer's rating of a unit: its newest score, or the newest score of each annotator combined. */
export interface Rating extends RatedUnit {
  /** The mean of the annotators' scores; null if there are only labels. */
  score: number | null;
  /** The score that most annotators gave; of several, the newest. */
  common_score: number | null;
  label: string | null;
  /** The distinct versions that rated; null for a result that names no version. */
  versions: (number | null)[];
}

/** A list of limited length. */
export interface Part<Item> {
  items: Item[];
  /** Whether there may be older items. */
  isTruncated: boolean;
}

/** A choice in a version of a scorer. */
export interface ScoredChoice {
  value: string;
  score: number;
}

/** Where a scorer's ratings are stored besides results. */
export type Source = 'hosted' | 'human';

/** The scorer whose ratings are read. */
export interface RatedBy {
  scorerId: string;
  /** Null for all versions. */
  version: number | null;
}

interface CountedUnit extends RatedUnit {
  /** Number of scores searched. */
  searched: number;
}

const UNIT_OF_ROW = raw(`
  CASE WHEN s.trace_id IS NOT NULL THEN 'trace' WHEN s.session_id IS NOT NULL THEN 'session' ELSE 'result' END AS unit_kind,
  coalesce(s.trace_id, s.session_id, s.result_id) AS unit_id`);

const HAS_DETAILS = raw(`s.score_details::text <> '{}'`);
const RESULT_COLUMNS = raw('s.result_id, s.trace_id, s.session_id, s.scores, s.score_details');

/** Joins the result that a score is of, by its key. */
const SCORED_RESULT = raw(`LEFT JOIN LATERAL (
    SELECT r.version FROM results r
    WHERE r.workspace_id = s.workspace_id AND r.experiment_id = s.experiment_id AND r.result_id = s.result_id OFFSET 0
  ) scored ON s.result_version IS NOT NULL`);
/** Whether that result has not been replaced since. */
const IS_CURRENT = raw('(scored.version IS NULL OR scored.version = s.result_version)');

/** Selects the scores of runs, without those of results that were replaced since. @param from tables, with the scores as `s` */
const hostedRatings = (scope: Scope, { scorerId, version }: RatedBy, from: Sql): Sql => sql`
  SELECT ${UNIT_OF_ROW}, s.score_id AS id, s.score, s.score AS common_score, s.choice AS label,
         ARRAY[s.scorer_version] AS versions
  FROM ${from} ${SCORED_RESULT}
  WHERE s.workspace_id = ${scope.workspaceId} AND s.scorer_id = ${scorerId} ${ofVersion('s', version)}
    AND s.error IS NULL AND (s.score IS NOT NULL OR s.choice IS NOT NULL)
    AND ${IS_CURRENT}`;

/**
 * Selects current annotations with the output of the scorer's newest annotation, without those of results that were
 * replaced since. @param from tables, with annotations as `s`
 */
const annotations = (scope: Scope, { scorerId, version }: RatedBy, from: Sql): Sql => sql`
  SELECT ${UNIT_OF_ROW}, s.score_id AS id, s.score, s.choice AS label, s.created_by AS annotator,
         s.scorer_version AS version
  FROM ${from} ${SCORED_RESULT}
  WHERE s.workspace_id = ${scope.workspaceId} AND s.scorer_id = ${scorerId} ${ofVersion('s', version)}
    AND s.superseded_by_score_id IS NULL AND ${IS_CURRENT} AND s.output_sha256 = (
      SELECT newest.output_sha256 FROM human_scores newest
      WHERE newest.workspace_id = ${scope.workspaceId} AND newest.scorer_id = ${scorerId} ${ofVersion('newest', version)}
      ORDER BY newest.score_id DESC LIMIT 1)`;

/** Selects scores in results that name their scorer, without copies of annotations. */
const ratingsInResults = ({ scorerId, version }: RatedBy, results: Sql): Sql => sql`
  SELECT ${UNIT_OF_ROW}, s.result_id AS id, detail.key AS name, (s.scores ->> detail.key)::float8 AS score,
         (s.scores ->> detail.key)::float8 AS common_score, detail.value ->> 'label' AS label,
         ARRAY[(detail.value ->> 'scorer_version')::integer] AS versions
  FROM (${results}) s CROSS JOIN LATERAL json_each(s.score_details) AS detail
  WHERE detail.value ->> 'scorer_id' = ${scorerId}
    ${version === null ? empty : sql`AND (detail.value ->> 'scorer_version')::integer = ${version}`}
    AND detail.value #> '{metadata,score_ids}' IS NULL
    AND (s.scores ->> detail.key IS NOT NULL OR detail.value ->> 'label' IS NOT NULL)`;

const ofVersion = (alias: string, version: number | null): Sql =>
  version === null ? empty : sql`AND ${raw(alias)}.scorer_version = ${version}`;

/** Selects the units of ratings, newest first, with the number of ratings searched. */
const unitsOfRatings = (ratings: Sql): Sql => sql`
  SELECT unit_kind, unit_id, max(id) AS id, (sum(count(*)) OVER ())::integer AS searched
  FROM (${ratings}) found GROUP BY unit_kind, unit_id ORDER BY max(id) DESC LIMIT ${UNITS_MAX + 1}`;

/** Reads ratings: scores of runs, annotations, and scores that clients wrote into results. */
@Injectable()
export class AgreementRepository {
  constructor(private readonly database: Database) {}

  /** Returns the newest units that runs or annotators rated, up to one more than are measured. */
  async newest(scope: Scope, by: RatedBy, source: Source): Promise<Part<RatedUnit>> {
    const ratings =
      source === 'hosted'
        ? hostedRatings(scope, by, sql`score_results s`)
        : annotations(scope, by, sql`human_scores s`);
    let found: Part<RatedUnit> = { items: [], isTruncated: false };
    for (const most of SCORES_SCANNED) {
      const items = await this.database.query<CountedUnit>(
        unitsOfRatings(sql`${ratings} ORDER BY s.score_id DESC LIMIT ${most + 1}`),
      );
      found = { items, isTruncated: (items[0]?.searched ?? 0) > most };
      if (!found.isTruncated || items.length > UNITS_MAX) break;
    }
    return found;
  }

  /** Returns the newest units with scores that clients wrote to results. */
  async newestInResults(scope: Scope, by: RatedBy): Promise<Part<RatedUnit>> {
    const results = sql`
      SELECT ${RESULT_COLUMNS} FROM results s WHERE s.workspace_id = ${scope.workspaceId} AND ${HAS_DETAILS}
      ORDER BY s.result_id DESC LIMIT ${RESULTS_SCANNED}`;
    const items = await this.database.query<CountedUnit>(unitsOfRatings(ratingsInResults(by, results)));
    const isTruncated = items.length > 0 && (await this.hasMoreDetailedResults(scope));
    return { items, isTruncated };
  }

  /** Returns the units of an experiment's results, newest first, up to one more than are measured. */
  unitsOf(scope: Scope, experimentId: string): Promise<Unit[]> {
    return this.database.query(
      prepared(
        'agreement.units-of-experiment',
        sql`
          SELECT ${UNIT_OF_ROW} FROM results s
          WHERE s.experiment_id = ${experimentId} AND s.workspace_id = ${scope.workspaceId}
          ORDER BY s.result_id DESC LIMIT ${UNITS_MAX + 1}`,
      ),
    );
  }

  /** Returns the newest rating of each of these units by runs. */
  byRuns(scope: Scope, by: RatedBy, units: readonly Unit[]): Promise<Rating[]> {
    return this.database.query(sql`
      SELECT DISTINCT ON (unit_kind, unit_id) * FROM (
        ${onUnits(units, 'score_results', (from) => hostedRatings(scope, by, from))}
      ) found ORDER BY unit_kind, unit_id, id DESC`);
  }

  /**
   * Returns the combined rating of each of these units by annotators, from the newest 100,000 annotations. PostgreSQL
   * combines them, because a unit may have a hundred annotations.
   */
  async byAnnotators(scope: Scope, by: RatedBy, units: readonly Unit[]): Promise<Part<Rating>> {
    const rows = await this.database.query<
      Omit<Rating, 'score'> & { mean: string | null; is_truncated: boolean }
    >(sql`
      WITH found AS MATERIALIZED (
        SELECT * FROM (${onUnits(units, 'human_scores', (from) => annotations(scope, by, from))}) newest
        ORDER BY id DESC LIMIT ${ANNOTATIONS_MAX + 1}
      ), annotation AS MATERIALIZED (
        SELECT DISTINCT ON (unit_kind, unit_id, annotator) * FROM found ORDER BY unit_kind, unit_id, annotator, id DESC
      ), combined AS (
        SELECT unit_kind, unit_id, max(id) AS id, avg(score::text::numeric) AS mean,
               array_agg(DISTINCT version) AS versions
        FROM annotation GROUP BY unit_kind, unit_id
      )
      SELECT unit_kind, unit_id, combined.id, combined.mean::text AS mean, scores.score AS common_score, labels.label,
             combined.versions, (SELECT count(*) > ${ANNOTATIONS_MAX} FROM found) AS is_truncated
      FROM combined JOIN (${mostCommon('score')}) scores USING (unit_kind, unit_id)
      LEFT JOIN (${mostCommon('label')}) labels USING (unit_kind, unit_id)`);
    const items = rows.map(({ mean, is_truncated: _, ...rating }) => ({
      ...rating,
      score: mean === null ? null : Number(mean), // the double nearest to the exact mean
    }));
    return { items, isTruncated: rows[0]?.is_truncated ?? false };
  }

  /**
   * Returns the newest rating of each of these units in results. If a result has several scores by one scorer, the first
   * by name counts, so that the answer is deterministic.
   *
   * @param experimentId reads only the results of this experiment; null for all
   */
  inResults(
    scope: Scope,
    by: RatedBy,
    units: readonly Unit[],
    experimentId: string | null,
  ): Promise<Rating[]> {
    const results = onUnits(
      units,
      'results',
      (from) => sql`
        SELECT ${RESULT_COLUMNS} FROM ${from} WHERE s.workspace_id = ${scope.workspaceId} AND ${HAS_DETAILS}
        ${experimentId === null ? empty : sql`AND s.experiment_id = ${experimentId}`}`,
    );
    return this.database.query(sql`
      SELECT DISTINCT ON (unit_kind, unit_id) * FROM (${ratingsInResults(by, results)}) found
      ORDER BY unit_kind, unit_id, id DESC, name COLLATE "C"`);
  }

  /** Returns the choices of these scorer versions with all their scores. Scorers of kind `code` have no choices. */
  choicesOf(
    scope: Scope,
    versions: readonly { scorerId: string; version: number }[],
  ): Promise<ScoredChoice[]> {
    const scorerIds = versions.map(({ scorerId }) => scorerId);
    const numbers = versions.map(({ version }) => version);
    return this.database.query(
      prepared(
        'agreement.choices',
        sql`
          SELECT DISTINCT choice ->> 'value' AS value, (choice ->> 'score')::float8 AS score
          FROM unnest(${scorerIds}::text[], ${numbers}::integer[]) AS given(scorer_id, scorer_version)
          JOIN scorer_versions v USING (scorer_id, scorer_version)
          CROSS JOIN LATERAL json_array_elements(CASE v.definition #>> '{output,type}' WHEN 'choice'
            THEN v.definition #> '{output,choices}' END) AS choice
          WHERE v.workspace_id = ${scope.workspaceId} AND v.scorer_kind <> 'code'`,
      ),
    );
  }

  private async hasMoreDetailedResults(scope: Scope): Promise<boolean> {
    const rows = await this.database.query(sql`
      SELECT 1 FROM results s WHERE s.workspace_id = ${scope.workspaceId} AND ${HAS_DETAILS}
      ORDER BY s.result_id DESC OFFSET ${RESULTS_SCANNED} LIMIT 1`);
    return rows.length > 0;
  }
}

/**
 * Selects the rows of these units from a table. Uses a join in statements without a name, because a prepared lookup in an
 * array would compare each row with each unit.
 */
const onUnits = (
  units: readonly Unit[],
  table: 'human_scores' | 'results' | 'score_results',
  select: (from: Sql) => Sql,
): Sql => {
  const on = (kind: Unit['unit_kind'], condition: string): Sql =>
    select(sql`${idsOf(units, kind)} JOIN ${raw(`${table} s ON ${condition}`)}`);
  return sql`
    ${on('trace', 's.trace_id = unit.id')}
    UNION ALL ${on('session', 's.session_id = unit.id AND s.trace_id IS NULL')}
    UNION ALL ${on('result', 's.result_id = unit.id AND s.trace_id IS NULL AND s.session_id IS NULL')}`;
};

const idsOf = (units: readonly Unit[], kind: Unit['unit_kind']): Sql => {
  const ids = units.filter((unit) => unit.unit_kind === kind).map((unit) => unit.unit_id);
  return sql`unnest(${arrayParameter('text', ids)}::text[]) AS unit(id)`;
};

/** Selects the most common value of a column of `annotation` per unit; of several, the newest. */
const mostCommon = (name: 'score' | 'label'): Sql => {
  const column = raw(name);
  return sql`
    SELECT DISTINCT ON (unit_kind, unit_id) unit_kind, unit_id, ${column}
    FROM (SELECT unit_kind, unit_id, ${column}, count(*) AS times, max(id) AS newest FROM annotation
          WHERE ${column} IS NOT NULL GROUP BY unit_kind, unit_id, ${column}) counted
    ORDER BY unit_kind, unit_id, times DESC, newest DESC`;
};
