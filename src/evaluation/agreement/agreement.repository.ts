import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { arrayParameter, Database } from '#platform/db';

/** Units that agreement is worked out over. */
export const UNITS_MAX = 10_000;
/** Results that are looked through for scores which clients wrote into them, the newest that say more than numbers. */
const RESULTS_SCANNED = 10_000;
/** Scores of people on the units. */
const ANNOTATIONS_MAX = 100_000;

export type UnitKind = 'trace' | 'session' | 'result';

/** What was scored: the trace where there is one, else the session, else the result. */
export interface Unit {
  unit_kind: UnitKind;
  unit_id: string;
}

/** One score by one scorer. */
export interface UnitScore extends Unit {
  /** Of the score, or of the result that it stands in. Ids sort by time after their prefix. */
  id: string;
  score: number | null;
  label: string | null;
  /** The person; null of a score that is no person's, or of several together. */
  annotator: string | null;
}

/** Whose scores are read. @property version null for all of them. */
export interface ScoredBy {
  scorerId: string;
  version: number | null;
}

const HOSTED_COLUMNS = `CASE WHEN trace_id IS NOT NULL THEN 'trace' ELSE 'session' END AS unit_kind,
  target_id AS unit_id, score_id AS id, score, choice AS label, NULL AS annotator`;
const HOSTED = `FROM score_results WHERE workspace_id = $1 AND scorer_id = $2
  AND ($3::integer IS NULL OR scorer_version = $3) AND error IS NULL AND (score IS NOT NULL OR choice IS NOT NULL)`;

const UNIT = `CASE WHEN trace_id IS NOT NULL THEN 'trace' WHEN session_id IS NOT NULL THEN 'session' ELSE 'result' END
    AS unit_kind, coalesce(trace_id, session_id, result_id) AS unit_id`;
/** Of the units $4 (traces), $5 (sessions) and $6 (results). */
const WITHIN = `(trace_id = ANY($4::text[])
  OR (trace_id IS NULL AND session_id = ANY($5::text[]))
  OR (trace_id IS NULL AND session_id IS NULL AND result_id = ANY($6::text[])))`;

/** Present scores, of one scale: that of the scorer's newest score. */
const HUMAN_COLUMNS = `${UNIT}, score_id AS id, score, choice AS label, created_by AS annotator`;
const HUMAN = `FROM human_scores WHERE workspace_id = $1 AND scorer_id = $2
  AND ($3::integer IS NULL OR scorer_version = $3) AND superseded_by_score_id IS NULL
  AND output_sha256 = (SELECT newest.output_sha256 FROM human_scores newest
    WHERE newest.workspace_id = $1 AND newest.scorer_id = $2 AND ($3::integer IS NULL OR newest.scorer_version = $3)
    ORDER BY newest.score_id DESC LIMIT 1)`;

/** Scores in results that name the scorer they are by; not what people said there, which counts where they said it. */
const WRITTEN_COLUMNS = `unit_kind, unit_id, result_id AS id, (scores ->> detail.key)::float8 AS score,
  detail.value ->> 'label' AS label, NULL AS annotator`;
const WRITTEN = `CROSS JOIN LATERAL json_each(score_details) AS detail
  WHERE detail.value ->> 'scorer_id' = $2
    AND ($3::integer IS NULL OR (detail.value ->> 'scorer_version')::integer = $3)
    AND detail.value #> '{metadata,score_ids}' IS NULL
    AND (scores ->> detail.key IS NOT NULL OR detail.value ->> 'label' IS NOT NULL)`;

const named = (name: string, text: string) => ({ name: `agreement.${name}`, text });

const NEWEST = {
  hosted: named('newest-hosted', `SELECT ${HOSTED_COLUMNS} ${HOSTED} ORDER BY score_id DESC LIMIT $4`),
  human: named('newest-human', `SELECT ${HUMAN_COLUMNS} ${HUMAN} ORDER BY score_id DESC LIMIT $4`),
};
const OF_UNITS = {
  hosted: named(
    'hosted-of-units',
    `SELECT DISTINCT ON (target_id) ${HOSTED_COLUMNS} ${HOSTED}
       AND (trace_id = ANY($4::text[]) OR (trace_id IS NULL AND session_id = ANY($5::text[])))
       AND target_id = ANY($4::text[] || $5::text[])
     ORDER BY target_id, score_id DESC`,
  ),
  human: named(
    'human-of-units',
    `SELECT ${HUMAN_COLUMNS} ${HUMAN} AND ${WITHIN} ORDER BY score_id DESC LIMIT ${ANNOTATIONS_MAX}`,
  ),
};
const NEWEST_WRITTEN = named(
  'newest-written',
  `SELECT ${WRITTEN_COLUMNS} FROM (
     SELECT ${UNIT}, result_id, scores, score_details FROM results
     WHERE workspace_id = $1 AND score_details::text <> '{}' ORDER BY result_id DESC LIMIT ${RESULTS_SCANNED}
   ) found ${WRITTEN}`,
);
const WRITTEN_OF_UNITS = named(
  'written-of-units',
  `SELECT DISTINCT ON (unit_kind, unit_id) * FROM (SELECT ${WRITTEN_COLUMNS} FROM (
     SELECT ${UNIT}, result_id, scores, score_details FROM results
     WHERE workspace_id = $1 AND ${WITHIN} AND score_details::text <> '{}'
       AND ($7::text IS NULL OR experiment_id = $7)
   ) found ${WRITTEN}) written ORDER BY unit_kind, unit_id, id DESC`,
);
const UNITS_OF_EXPERIMENT = named(
  'units-of-experiment',
  `SELECT ${UNIT} FROM results WHERE experiment_id = $1 AND workspace_id = $2
   ORDER BY result_id DESC LIMIT ${UNITS_MAX + 1}`,
);
const HAS_MORE_DETAILED = named(
  'has-more-detailed',
  `SELECT 1 FROM results WHERE workspace_id = $1 AND score_details::text <> '{}'
   ORDER BY result_id DESC OFFSET ${RESULTS_SCANNED} LIMIT 1`,
);

/** Reads what was scored, and how: by runs of the service, by people, and by clients in the results they wrote. */
@Injectable()
export class AgreementRepository {
  constructor(private readonly database: Database) {}

  /** The newest scores that the service, or people, gave; one more than units that are looked at. */
  newest(scope: Scope, by: ScoredBy, source: 'hosted' | 'human'): Promise<UnitScore[]> {
    return this.database.query(NEWEST[source], [...keyOf(scope, by), UNITS_MAX + 1]);
  }

  /** Scores in the newest results that say more than numbers. */
  newestWritten(scope: Scope, by: ScoredBy): Promise<UnitScore[]> {
    return this.database.query(NEWEST_WRITTEN, keyOf(scope, by));
  }

  /** Whether there are older results that say more than numbers. */
  async hasMoreWritten(scope: Scope): Promise<boolean> {
    return (await this.database.query(HAS_MORE_DETAILED, [scope.workspaceId])).length > 0;
  }

  /** What the results of an experiment are of, the newest first; one more than are looked at. */
  unitsOf(scope: Scope, experimentId: string): Promise<Unit[]> {
    return this.database.query(UNITS_OF_EXPERIMENT, [experimentId, scope.workspaceId]);
  }

  /**
   * What the service, or people, said of these units: of each the newest score, or each person's present ones. Of
   * people the newest 100,000.
   */
  ofUnits(
    scope: Scope,
    by: ScoredBy,
    source: 'hosted' | 'human',
    units: readonly Unit[],
  ): Promise<UnitScore[]> {
    const [traces, sessions, results] = arraysOf(units);
    // runs score no results as such
    const of = source === 'human' ? [traces, sessions, results] : [traces, sessions];
    return this.database.query(OF_UNITS[source], [...keyOf(scope, by), ...of]);
  }

  /** What results say of these units, of each the newest. @param experimentId narrows to its results. */
  writtenOf(
    scope: Scope,
    by: ScoredBy,
    units: readonly Unit[],
    experimentId: string | null,
  ): Promise<UnitScore[]> {
    return this.database.query(WRITTEN_OF_UNITS, [...keyOf(scope, by), ...arraysOf(units), experimentId]);
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
