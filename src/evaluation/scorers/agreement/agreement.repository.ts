import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { Database, empty, prepared, raw, type Sql, sql } from '#platform/db';
import { exactSum, meanText } from '../../statistics';

/** Maximum number of units measured. */
export const UNITS_MAX = 10_000;
/** Scores searched for the newest units. The second number applies if units were scored repeatedly. */
const SCORES_SCANNED = [UNITS_MAX, 100_000];
/** Maximum number of ratings, and of annotations, read for a list of units, newest first. */
const RATINGS_MAX = 100_000;

/** The rated object: a trace if there is one, else a session, else a result. */
export interface Unit {
  unit_kind: 'trace' | 'session' | 'result';
  unit_id: string;
}

/** A unit that a scorer rated. */
export interface RatedUnit extends Unit {
  /** The id of the newest score. */
  id: string;
}

/** A scorer's rating of a target: its current score by a run or a client, or the newest score of each annotator. */
export interface Rating extends RatedUnit {
  /** The rated result. Null if the target is the trace or session itself. */
  result_id: string | null;
  /** For annotators, the mean; null if there are only labels. */
  score: number | null;
  /** Null for annotators, see `given`. */
  label: string | null;
  /** The distinct scorer versions of the scores; null for a score that names no version. */
  versions: (number | null)[];
  /** What each annotator gave, in no particular order. Absent for a run or a client. */
  given?: readonly PersonsRating[];
}

/** What one annotator gave to a unit. */
export type PersonsRating = readonly [
  created_by: string,
  author: string | null,
  score: number | null,
  label: string | null,
];

/** A list of limited length. */
export interface LimitedList<Item> {
  items: Item[];
  /** Whether there may be older items. */
  isTruncated: boolean;
}

/** A choice in a version of a scorer. */
export interface ChoiceScore {
  value: string;
  score: number;
}

/** Who gave the ratings: annotators, or clients and hosted scoring. Scores by end users are not ratings. */
export type RaterKind = 'annotators' | 'others';

/** The scorer whose ratings are read. */
export interface RaterSelection {
  scorerId: string;
  /** Null for all versions. */
  version: number | null;
  /** The SHA-256 of the output that annotations must answer, see `answeredOutput`. Null if there are none. */
  output: string | null;
}

/** The annotations of a unit. */
interface AnnotatedUnit extends Omit<Rating, 'score' | 'label' | 'given'> {
  /** See `meanText`. */
  mean: string | null;
  /** JSON text of a list of `PersonsRating`. */
  given: string;
  is_truncated: boolean;
}

interface CountedUnit extends RatedUnit {
  /** Number of scores searched. */
  searched: number;
}

const UNIT_OF_ROW = raw(`
  CASE WHEN s.trace_id IS NOT NULL THEN 'trace' WHEN s.session_id IS NOT NULL THEN 'session' ELSE 'result' END AS unit_kind,
  coalesce(s.trace_id, s.session_id, s.result_id) AS unit_id`);

/** Selects the current scores by clients and runs. @param from tables, with the scores as `s` */
const ratings = (scope: Scope, { scorerId, version }: RaterSelection, from: Sql): Sql => sql`
  SELECT ${UNIT_OF_ROW}, s.result_id, s.score_id AS id, s.score, s.label,
         ARRAY[s.scorer_version] AS versions, CASE WHEN s.source = 'hosted' THEN s.scorer_version END AS hosted_version
  FROM ${from}
  WHERE s.workspace_id = ${scope.workspaceId} AND s.scorer_id = ${scorerId} ${versionFilter('s', version)}
    AND s.source IN ('client', 'hosted') AND s.superseded_at IS NULL
    AND (s.score IS NOT NULL OR s.label IS NOT NULL)`;

/** Selects the current annotations that answer the output. @param from tables, with annotations as `s` */
const annotations = (scope: Scope, { scorerId, version, output }: RaterSelection, from: Sql): Sql => sql`
  SELECT ${UNIT_OF_ROW}, s.result_id, s.score_id AS id, s.score, s.label, s.created_by, s.author, s.scorer_version AS version
  FROM ${from}
  WHERE s.workspace_id = ${scope.workspaceId} AND s.scorer_id = ${scorerId} ${versionFilter('s', version)}
    AND s.source = 'human' AND s.superseded_at IS NULL AND s.output_sha256 = ${output}`;

const versionFilter = (alias: string, version: number | null): Sql =>
  version === null ? empty : sql`AND ${raw(alias)}.scorer_version = ${version}`;

/** Excludes the scores of results of other experiments. */
const within = (experimentId: string | null): Sql =>
  experimentId === null ? empty : sql` AND (s.experiment_id IS NULL OR s.experiment_id = ${experimentId})`;

/** Selects the units of ratings, newest first, with the number of ratings searched. */
const unitsOfRatings = (ratings: Sql): Sql => sql`
  SELECT unit_kind, unit_id, max(id) AS id, (sum(count(*)) OVER ())::integer AS searched
  FROM (${ratings}) rating GROUP BY unit_kind, unit_id ORDER BY max(id) DESC LIMIT ${UNITS_MAX + 1}`;

/** Reads the ratings of a scorer, which are its current scores. */
@Injectable()
export class AgreementRepository {
  constructor(private readonly database: Database) {}

  /** Returns the newest rated units, up to `UNITS_MAX` + 1. */
  async newest(scope: Scope, by: RaterSelection, raters: RaterKind): Promise<LimitedList<RatedUnit>> {
    const from = sql`scores s`;
    const rated = raters === 'annotators' ? annotations(scope, by, from) : ratings(scope, by, from);
    let units: LimitedList<RatedUnit> = { items: [], isTruncated: false };
    for (const most of SCORES_SCANNED) {
      const items = await this.database.query<CountedUnit>(
        unitsOfRatings(sql`${rated} ORDER BY s.score_id DESC LIMIT ${most + 1}`),
      );
      units = { items, isTruncated: (items[0]?.searched ?? 0) > most };
      if (!units.isTruncated || items.length > UNITS_MAX) break;
    }
    return units;
  }

  /**
   * Returns the hash of the output that the highest version of a scorer has which people have answered lately, whoever answered
   * last. Versions with the same output share a scale. Null without annotations.
   */
  async answeredOutput(
    { workspaceId }: Scope,
    { scorerId, version }: Omit<RaterSelection, 'output'>,
  ): Promise<string | null> {
    const [row] = await this.database.query<{ output_sha256: string }>(sql`
      SELECT output_sha256 FROM (
        SELECT s.output_sha256, s.scorer_version, s.score_id FROM scores s
        WHERE s.workspace_id = ${workspaceId} AND s.scorer_id = ${scorerId} ${versionFilter('s', version)}
          AND s.source = 'human' AND s.superseded_at IS NULL
        ORDER BY s.score_id DESC LIMIT ${UNITS_MAX}) recent
      ORDER BY scorer_version DESC, score_id DESC LIMIT 1`);
    return row?.output_sha256 ?? null;
  }

  async experimentExists({ workspaceId }: Scope, experimentId: string): Promise<boolean> {
    const rows = await this.database.query(
      sql`SELECT 1 FROM experiments WHERE experiment_id = ${experimentId} AND workspace_id = ${workspaceId}`,
    );
    return rows.length > 0;
  }

  /** Returns the units of an experiment's results, newest first, up to `UNITS_MAX` + 1. */
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

  /**
   * Returns the rating of each target of the units by the highest version that a run has used, else by the newest client. Reads
   * the newest 100,000 ratings.
   *
   * @param experimentId excludes the scores of other experiments' results; null excludes none
   */
  async findByOthers(
    scope: Scope,
    by: RaterSelection,
    units: readonly Unit[],
    experimentId: string | null,
  ): Promise<LimitedList<Rating>> {
    const items = await this.database.query<Rating>(sql`
      SELECT * FROM (
        SELECT DISTINCT ON (unit_kind, unit_id, result_id) * FROM (
          ${onUnits(units, (from) => sql`${ratings(scope, by, from)}${within(experimentId)}`)}
        ) rating ORDER BY unit_kind, unit_id, result_id, hosted_version IS NULL, hosted_version DESC, id DESC
      ) counted ORDER BY id DESC LIMIT ${RATINGS_MAX + 1}`);
    return { items: items.slice(0, RATINGS_MAX), isTruncated: items.length > RATINGS_MAX };
  }

  /**
   * Returns the annotators' ratings of each target of the units, from the newest 100,000 annotations. A target may have a
   * hundred, so PostgreSQL writes them as JSON.
   *
   * @param experimentId excludes the scores of other experiments' results; null excludes none
   */
  async findByAnnotators(
    scope: Scope,
    by: RaterSelection,
    units: readonly Unit[],
    experimentId: string | null,
  ): Promise<LimitedList<Rating>> {
    const rows = await this.database.query<AnnotatedUnit>(sql`
      WITH recent_annotation AS MATERIALIZED (
        SELECT * FROM (${onUnits(units, (from) => sql`${annotations(scope, by, from)}${within(experimentId)}`)}) newest
        ORDER BY id DESC LIMIT ${RATINGS_MAX + 1}
      ), annotation AS (
        SELECT DISTINCT ON (unit_kind, unit_id, result_id, created_by, author) * FROM recent_annotation
        ORDER BY unit_kind, unit_id, result_id, created_by, author, id DESC
      )
      SELECT unit_kind, unit_id, result_id, max(id) AS id, ${meanText(exactSum('score'), 'count(score)')} AS mean,
             array_agg(DISTINCT version) AS versions, json_agg(json_build_array(created_by, author, score, label))::text AS given,
             (SELECT count(*) > ${RATINGS_MAX} FROM recent_annotation) AS is_truncated
      FROM annotation GROUP BY unit_kind, unit_id, result_id`);
    const items = rows.map(({ mean, given, is_truncated: _, ...rating }) => ({
      ...rating,
      score: mean === null ? null : Number(mean),
      label: null,
      given: JSON.parse(given) as PersonsRating[],
    }));
    return { items, isTruncated: rows[0]?.is_truncated ?? false };
  }

  /** Returns the choices of these scorer versions with all their scores. Scorers of kind `code` have no choices. */
  choicesOf(
    scope: Scope,
    versions: readonly { scorerId: string; version: number }[],
  ): Promise<ChoiceScore[]> {
    const scorerIds = versions.map(({ scorerId }) => scorerId);
    const numbers = versions.map(({ version }) => version);
    return this.database.query(
      prepared(
        'agreement.choices',
        sql`
          SELECT DISTINCT choice ->> 'value' AS value, (choice ->> 'score')::float8 AS score
          FROM unnest(${scorerIds}::text[], ${numbers}::integer[]) AS pins(scorer_id, scorer_version)
          JOIN scorer_versions v USING (scorer_id, scorer_version)
          CROSS JOIN LATERAL json_array_elements(CASE v.definition #>> '{output,type}' WHEN 'choice'
            THEN v.definition #> '{output,choices}' END) AS choice
          WHERE v.workspace_id = ${scope.workspaceId} AND v.scorer_kind <> 'code'`,
      ),
    );
  }
}

/**
 * Selects the scores of these units. Joins the array of ids in an unprepared statement, because a prepared lookup in an
 * array would compare each row with each unit.
 */
const onUnits = (units: readonly Unit[], select: (from: Sql) => Sql): Sql => {
  const on = (kind: Unit['unit_kind'], condition: string): Sql =>
    select(sql`${idsOf(units, kind)} JOIN scores s ON s.unit_id = unit.id AND ${raw(condition)}`);
  return sql`
    ${on('trace', 's.trace_id IS NOT NULL')}
    UNION ALL ${on('session', 's.session_id IS NOT NULL AND s.trace_id IS NULL')}
    UNION ALL ${on('result', 's.trace_id IS NULL AND s.session_id IS NULL')}`;
};

const idsOf = (units: readonly Unit[], kind: Unit['unit_kind']): Sql => {
  const ids = units.filter((unit) => unit.unit_kind === kind).map((unit) => unit.unit_id);
  return sql`unnest(${ids}::text[]) AS unit(id)`;
};
