import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { arrayParameter, Database } from '#platform/db';
import { LANDED_MEAN, MEAN_OF_SCORES } from '../scores/human-landing.repository';

/** Units that agreement is worked out over. */
export const UNITS_MAX = 10_000;
/** Results that are looked through for scores which clients wrote into them, the newest that say more than numbers. */
const RESULTS_SCANNED = 10_000;
/** Scores that are looked through for the newest units: as many, unless units were scored again and again. */
const SCORES_SCANNED = [UNITS_MAX, 100_000];
/** Scores of people on the units. */
const ANNOTATIONS_MAX = 100_000;

export type UnitKind = 'trace' | 'session' | 'result';

/** What was scored: the trace where there is one, else the session, else the result. */
export interface Unit {
  unit_kind: UnitKind;
  unit_id: string;
}

/** A unit that a scorer scored. */
export interface ScoredUnit extends Unit {
  /** Of the newest score, or of the result that it stands in. Ids sort by time after their prefix. */
  id: string;
}

/** What a scorer says of a unit: its newest score, or of people what all of them say, the newest score of each. */
export interface UnitOpinion extends ScoredUnit {
  /** The mean of people's scores; null where all that is said is a label. */
  score: number | null;
  /** What most of them say, the newest of those said equally often. */
  common_score: number | null;
  label: string | null;
  /** The scorer's versions that it was said by, each once; null where a result does not tell. */
  versions: (number | null)[];
}

/** Some of what there is. */
export interface Found<Item> {
  items: Item[];
  /** There may be older ones. */
  isCut: boolean;
}

/** A choice of some version of a scorer. */
export interface ScoredChoice {
  value: string;
  score: number;
}

/** Where a scorer's scores are that are not in results. */
export type Source = 'hosted' | 'human';

interface CountedUnit extends ScoredUnit {
  looked_at: number;
}

/** Whose scores are read. @property version null for all of them. */
export interface ScoredBy {
  scorerId: string;
  version: number | null;
}

/** Of the newest, or of given units: what follows FROM and is called `s`. */
const HOSTED = (
  from: string,
): string => `SELECT CASE WHEN s.trace_id IS NOT NULL THEN 'trace' ELSE 'session' END AS unit_kind,
    s.target_id AS unit_id, s.score_id AS id, s.score, s.score AS common_score, s.choice AS label,
    ARRAY[s.scorer_version] AS versions
  FROM ${from} WHERE s.workspace_id = $1 AND s.scorer_id = $2 AND ($3::integer IS NULL OR s.scorer_version = $3)
    AND s.error IS NULL AND (s.score IS NOT NULL OR s.choice IS NOT NULL)`;

/** Present scores, of one scale: that of the scorer's newest score. */
const HUMAN = (from: string): string => `SELECT
    CASE WHEN s.trace_id IS NOT NULL THEN 'trace' WHEN s.session_id IS NOT NULL THEN 'session' ELSE 'result' END AS unit_kind,
    coalesce(s.trace_id, s.session_id, s.result_id) AS unit_id, s.score_id AS id, s.score, s.choice AS label,
    s.created_by AS annotator, s.scorer_version AS version
  FROM ${from} WHERE s.workspace_id = $1 AND s.scorer_id = $2 AND ($3::integer IS NULL OR s.scorer_version = $3)
    AND s.superseded_by_score_id IS NULL AND s.output_sha256 = (
      SELECT newest.output_sha256 FROM human_scores newest WHERE newest.workspace_id = $1 AND newest.scorer_id = $2
        AND ($3::integer IS NULL OR newest.scorer_version = $3) ORDER BY newest.score_id DESC LIMIT 1)`;

/** Scores in results that name the scorer they are by; not what people said there, which counts where they said it. */
const WRITTEN = (results: string): string => `SELECT
    CASE WHEN s.trace_id IS NOT NULL THEN 'trace' WHEN s.session_id IS NOT NULL THEN 'session' ELSE 'result' END AS unit_kind,
    coalesce(s.trace_id, s.session_id, s.result_id) AS unit_id, s.result_id AS id, detail.key AS name,
    (s.scores ->> detail.key)::float8 AS score, (s.scores ->> detail.key)::float8 AS common_score,
    detail.value ->> 'label' AS label, ARRAY[(detail.value ->> 'scorer_version')::integer] AS versions
  FROM (${results}) s CROSS JOIN LATERAL json_each(s.score_details) AS detail
  WHERE detail.value ->> 'scorer_id' = $2
    AND ($3::integer IS NULL OR (detail.value ->> 'scorer_version')::integer = $3)
    AND detail.value #> '{metadata,score_ids}' IS NULL
    AND (s.scores ->> detail.key IS NOT NULL OR detail.value ->> 'label' IS NOT NULL)`;

const RESULT_COLUMNS = 's.result_id, s.trace_id, s.session_id, s.scores, s.score_details';
const IS_DETAILED = `s.score_details::text <> '{}'`;

/** Units of some scores, the newest first, each with how many scores were looked at. */
const unitsOfScores = (scores: string): string => `SELECT unit_kind, unit_id, max(id) AS id,
    (sum(count(*)) OVER ())::integer AS looked_at
  FROM (${scores}) found GROUP BY unit_kind, unit_id ORDER BY max(id) DESC LIMIT ${UNITS_MAX + 1}`;
const NEWEST = {
  hosted: unitsOfScores(`${HOSTED('score_results s')} ORDER BY s.score_id DESC LIMIT $4`),
  human: unitsOfScores(`${HUMAN('human_scores s')} ORDER BY s.score_id DESC LIMIT $4`),
};
const NEWEST_WRITTEN = unitsOfScores(
  WRITTEN(`SELECT ${RESULT_COLUMNS} FROM results s
    WHERE s.workspace_id = $1 AND ${IS_DETAILED} ORDER BY s.result_id DESC LIMIT ${RESULTS_SCANNED}`),
);

/**
 * Rows of the units $4 (traces), $5 (sessions) and $6 (results). Joined, and in statements without a name: looked up in
 * an array, each row would be held against each unit as soon as the plan is kept.
 */
const WITHIN = (select: (from: string) => string, table: string): string => `
  ${select(`unnest($4::text[]) AS unit(id) JOIN ${table} s ON s.trace_id = unit.id`)}
  UNION ALL ${select(`unnest($5::text[]) AS unit(id) JOIN ${table} s ON s.session_id = unit.id AND s.trace_id IS NULL`)}
  UNION ALL ${select(`unnest($6::text[]) AS unit(id) JOIN ${table} s ON s.result_id = unit.id AND s.trace_id IS NULL AND s.session_id IS NULL`)}`;

const HOSTED_OF_UNITS = `SELECT DISTINCT ON (unit_kind, unit_id) * FROM (
    ${HOSTED('unnest($4::text[]) AS unit(id) JOIN score_results s ON s.target_id = unit.id AND s.trace_id IS NOT NULL')}
    UNION ALL
    ${HOSTED('unnest($5::text[]) AS unit(id) JOIN score_results s ON s.target_id = unit.id AND s.trace_id IS NULL')}
  ) found ORDER BY unit_kind, unit_id, id DESC`;

/** Of each unit what most people say: a column of `said`, by how often it is said, and then by how lately. */
const common = (
  column: string,
): string => `SELECT DISTINCT ON (unit_kind, unit_id) unit_kind, unit_id, ${column}
    FROM (SELECT unit_kind, unit_id, ${column}, count(*) AS times, max(id) AS newest FROM said
          WHERE ${column} IS NOT NULL GROUP BY unit_kind, unit_id, ${column}) counted
    ORDER BY unit_kind, unit_id, times DESC, newest DESC`;

/** Made one of each unit here: a unit may have a hundred scores, and to read them all would hold up others. */
const HUMAN_OF_UNITS = `WITH found AS MATERIALIZED (
    SELECT * FROM (${WITHIN(HUMAN, 'human_scores')}) newest ORDER BY id DESC LIMIT ${ANNOTATIONS_MAX + 1}
  ), said AS MATERIALIZED (
    SELECT DISTINCT ON (unit_kind, unit_id, annotator) * FROM found ORDER BY unit_kind, unit_id, annotator, id DESC
  ), folded AS (
    SELECT unit_kind, unit_id, max(id) AS id, ${MEAN_OF_SCORES} AS mean, array_agg(DISTINCT version) AS versions
    FROM said GROUP BY unit_kind, unit_id
  )
  SELECT unit_kind, unit_id, folded.id, ${LANDED_MEAN} AS score, scores.score AS common_score, labels.label,
         folded.versions, (SELECT count(*) > ${ANNOTATIONS_MAX} FROM found) AS is_cut
  FROM folded JOIN (${common('score')}) scores USING (unit_kind, unit_id)
  LEFT JOIN (${common('label')}) labels USING (unit_kind, unit_id)`;

/** Of several scores by one scorer in one result the first by name, so that the answer repeats. */
const WRITTEN_OF_UNITS = `SELECT DISTINCT ON (unit_kind, unit_id) * FROM (${WRITTEN(
  WITHIN(
    (from) => `SELECT ${RESULT_COLUMNS} FROM ${from}
      WHERE s.workspace_id = $1 AND ${IS_DETAILED} AND ($7::text IS NULL OR s.experiment_id = $7)`,
    'results',
  ),
)}) found ORDER BY unit_kind, unit_id, id DESC, name COLLATE "C"`;
const UNITS_OF_EXPERIMENT = {
  name: 'agreement.units-of-experiment',
  text: `SELECT
      CASE WHEN trace_id IS NOT NULL THEN 'trace' WHEN session_id IS NOT NULL THEN 'session' ELSE 'result' END AS unit_kind,
      coalesce(trace_id, session_id, result_id) AS unit_id
    FROM results WHERE experiment_id = $1 AND workspace_id = $2 ORDER BY result_id DESC LIMIT ${UNITS_MAX + 1}`,
};
const HAS_MORE_DETAILED = `SELECT 1 FROM results s WHERE s.workspace_id = $1 AND ${IS_DETAILED}
  ORDER BY s.result_id DESC OFFSET ${RESULTS_SCANNED} LIMIT 1`;

/** Of judges and people: a definition of code has no `output` that the service knows the form of. */
const CHOICES = {
  name: 'agreement.choices',
  text: `SELECT DISTINCT choice ->> 'value' AS value, (choice ->> 'score')::float8 AS score
    FROM unnest($2::text[], $3::integer[]) AS given(scorer_id, scorer_version)
    JOIN scorer_versions v USING (scorer_id, scorer_version)
    CROSS JOIN LATERAL json_array_elements(CASE v.definition #>> '{output,type}' WHEN 'choice'
      THEN v.definition #> '{output,choices}' END) AS choice
    WHERE v.workspace_id = $1 AND v.scorer_kind <> 'code'`,
};

/** Reads what was scored, and how: by runs of the service, by people, and by clients in the results they wrote. */
@Injectable()
export class AgreementRepository {
  constructor(private readonly database: Database) {}

  /** The newest units that the service, or people, scored; one more than are looked at. */
  async newest(scope: Scope, by: ScoredBy, source: Source): Promise<Found<ScoredUnit>> {
    let found: Found<ScoredUnit> = { items: [], isCut: false };
    for (const most of SCORES_SCANNED) {
      const items = await this.database.query<CountedUnit>(NEWEST[source], [...keyOf(scope, by), most + 1]);
      found = { items, isCut: (items[0]?.looked_at ?? 0) > most };
      if (!found.isCut || items.length > UNITS_MAX) break;
    }
    return found;
  }

  /** Units of scores in the newest results that say more than numbers. */
  async newestWritten(scope: Scope, by: ScoredBy): Promise<Found<ScoredUnit>> {
    const items = await this.database.query<CountedUnit>(NEWEST_WRITTEN, keyOf(scope, by));
    const isCut =
      items.length > 0 && (await this.database.query(HAS_MORE_DETAILED, [scope.workspaceId])).length > 0;
    return { items, isCut };
  }

  /** What the results of an experiment are of, the newest first; one more than are looked at. */
  unitsOf(scope: Scope, experimentId: string): Promise<Unit[]> {
    return this.database.query(UNITS_OF_EXPERIMENT, [experimentId, scope.workspaceId]);
  }

  /** What runs of the service said of these units. They score no results as such. */
  hostedOf(scope: Scope, by: ScoredBy, units: readonly Unit[]): Promise<UnitOpinion[]> {
    return this.database.query(HOSTED_OF_UNITS, [...keyOf(scope, by), ...arraysOf(units).slice(0, 2)]);
  }

  /** What people say of these units, by the newest 100,000 of their scores. */
  async humanOf(scope: Scope, by: ScoredBy, units: readonly Unit[]): Promise<Found<UnitOpinion>> {
    const values = [...keyOf(scope, by), ...arraysOf(units)];
    const items = await this.database.query<UnitOpinion & { is_cut: boolean }>(HUMAN_OF_UNITS, values);
    return { items, isCut: items[0]?.is_cut ?? false };
  }

  /** What results say of these units, of each the newest. @param experimentId narrows to its results. */
  writtenOf(
    scope: Scope,
    by: ScoredBy,
    units: readonly Unit[],
    experimentId: string | null,
  ): Promise<UnitOpinion[]> {
    return this.database.query(WRITTEN_OF_UNITS, [...keyOf(scope, by), ...arraysOf(units), experimentId]);
  }

  /** The choices that these versions of scorers give to choose from, each with every score that one of them gives it. */
  choicesOf(
    scope: Scope,
    versions: readonly { scorerId: string; version: number }[],
  ): Promise<ScoredChoice[]> {
    return this.database.query(CHOICES, [
      scope.workspaceId,
      versions.map(({ scorerId }) => scorerId),
      versions.map(({ version }) => version),
    ]);
  }
}

const keyOf = (scope: Scope, { scorerId, version }: ScoredBy): unknown[] => [
  scope.workspaceId,
  scorerId,
  version,
];

const arraysOf = (units: readonly Unit[]): Buffer[] =>
  (['trace', 'session', 'result'] as const).map((kind) =>
    arrayParameter(
      'text',
      units.filter((unit) => unit.unit_kind === kind).map((unit) => unit.unit_id),
    ),
  );
