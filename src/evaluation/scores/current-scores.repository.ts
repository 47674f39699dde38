import type { Scope } from '#platform/auth';
import { prepared, sql, type SqlExecutor } from '#platform/db';
import { RawJson, toRawJson } from '#platform/json';
import { CURRENT_PEOPLE_FIRST, hasPeople, peopleOfResults, peopleScored } from './current-scores.sql';
import type { ScoreRow } from './score.entity';

/** The parts of a score besides its number, as the view of a result shows them. */
export interface ScoreDetail {
  metadata?: unknown;
  comment?: string;
  label?: string;
  scorer_id?: string;
  scorer_version?: number;
}

/** A current score of a result. */
export interface CurrentScore extends Pick<
  ScoreRow,
  'scorer_name' | 'score' | 'label' | 'comment' | 'scorer_id' | 'scorer_version'
> {
  /** Null if there is none. */
  metadata: RawJson | null;
}

/** The current scores of a result, as its view shows them. */
export interface ShownScores {
  /** Scorer name to number, or null if the scorer gave none. */
  scores: RawJson;
  /** Scorer name to `ScoreDetail`, for those that have one. */
  score_details: RawJson;
}

type ScoredResult = Pick<ScoreRow, 'trace_id' | 'session_id'> & { result_id: string };
type PersonsScore = CurrentScore & { result_id: string };

/** The current scores of a result by clients and runs. */
interface MachineScores {
  result_id: string;
  /** JSON text of scorer name to number or null. */
  scores: string;
  /** JSON text of an array of `StoredDetail`, for the scores that may have details. Null if there are none. */
  details: string | null;
}

/** A score besides its number. `metadata` is JSON text as it is stored. */
type StoredDetail = Pick<
  ScoreRow,
  'scorer_name' | 'source' | 'label' | 'comment' | 'scorer_id' | 'scorer_version' | 'score_run_id'
> & { answers: object | null; metadata: string };

/** Returns results with their current scores. */
export async function withCurrentScores<Result extends ScoredResult>(
  on: SqlExecutor,
  { workspaceId }: Scope,
  results: readonly Result[],
): Promise<(Result & ShownScores)[]> {
  if (results.length === 0) return [];
  const keys = results.flatMap(({ result_id, trace_id, session_id }) => [
    `${workspaceId} result ${result_id}`,
    ...(trace_id === null ? [] : [`${workspaceId} trace ${trace_id}`]),
    ...(session_id === null ? [] : [`${workspaceId} session ${session_id}`]),
  ]);
  const rows = await on.query<MachineScores & { has_people: boolean }>(
    prepared(
      'scores.current',
      sql`SELECT workspace.has_people, own.*
          FROM (SELECT ${hasPeople(workspaceId)} AND ${peopleScored(sql`${keys}::text[]`)} AS has_people OFFSET 0) workspace
          LEFT JOIN LATERAL (
            SELECT result_id, json_object_agg(scorer_name, score ORDER BY scorer_name)::text AS scores,
              json_agg(json_build_object('scorer_name', scorer_name, 'source', source, 'label', label, 'comment', comment,
                'scorer_id', scorer_id, 'scorer_version', scorer_version, 'score_run_id', score_run_id, 'answers', answers,
                'metadata', metadata::text)) FILTER (WHERE source = 'hosted' OR scorer_id IS NOT NULL
                  OR scorer_version IS NOT NULL OR label IS NOT NULL OR comment IS NOT NULL OR metadata::text <> '{}'
              )::text AS details
            FROM scores
            WHERE result_id = ANY (${results.map(({ result_id }) => result_id)}::text[]) AND is_current
              AND (workspace_id = ${workspaceId}) IS TRUE
            GROUP BY result_id OFFSET 0) own ON true`,
    ),
  );
  const machine = new Map(rows.map((row) => [row.result_id, row]));
  const people = rows[0]!.has_people ? await readPeople(on, workspaceId, results) : [];
  const byResult = new Map<string, PersonsScore[]>(results.map(({ result_id }) => [result_id, []]));
  for (const score of people) byResult.get(score.result_id)!.push(score);
  return results.map((result) => ({
    ...result,
    ...merge(machine.get(result.result_id), byResult.get(result.result_id)!),
  }));
}

function readPeople(
  on: SqlExecutor,
  workspaceId: string,
  results: readonly ScoredResult[],
): Promise<PersonsScore[]> {
  const ids = sql`(SELECT * FROM unnest(${results.map((one) => one.result_id)}::text[],
      ${results.map((one) => one.trace_id)}::text[], ${results.map((one) => one.session_id)}::text[])
      AS ids(result_id, trace_id, session_id))`;
  return on.query<PersonsScore>(
    prepared(
      'scores.people',
      sql`SELECT DISTINCT ON (result_id, scorer_name) *
          FROM (${peopleOfResults(workspaceId, ids, { details: true })}) people
          ORDER BY result_id, scorer_name, ${CURRENT_PEOPLE_FIRST}`,
    ),
  );
}

const NO_MACHINE = { scores: '{}', details: null };

/** Adds people's scores under the names that no client or run has used. */
function merge(
  { scores, details }: Omit<MachineScores, 'result_id'> = NO_MACHINE,
  people: CurrentScore[],
): ShownScores {
  if (details === null && people.length === 0) {
    return { scores: new RawJson(scores), score_details: EMPTY_OBJECT };
  }
  const numbers = JSON.parse(scores) as Record<string, number | null>;
  const stored = new Map(
    (JSON.parse(details ?? '[]') as StoredDetail[]).map((one) => [one.scorer_name, partsOf(one)]),
  );
  return show([
    ...Object.entries(numbers).map(([scorer_name, score]) => ({
      ...(stored.get(scorer_name) ?? NO_PARTS),
      scorer_name,
      score,
    })),
    ...people.filter(({ scorer_name }) => !Object.hasOwn(numbers, scorer_name)),
  ]);
}

type Parts = Omit<CurrentScore, 'scorer_name' | 'score'>;
const NO_PARTS: Parts = { label: null, comment: null, scorer_id: null, scorer_version: null, metadata: null };

/** The metadata of a hosted score names its run, and has the judge's answers. */
const partsOf = ({ source, score_run_id, answers, metadata, ...parts }: StoredDetail): Parts => ({
  ...parts,
  metadata:
    source === 'hosted'
      ? toRawJson({ score_run_id, ...(answers && { answers }) })
      : RawJson.fromStored(metadata),
});

const EMPTY_OBJECT = new RawJson('{}');
const NO_SCORES: ShownScores = { scores: EMPTY_OBJECT, score_details: EMPTY_OBJECT };

/** Returns the current scores of a result as its view shows them, sorted by name. */
export function show(scores: readonly CurrentScore[]): ShownScores {
  if (scores.length === 0) return NO_SCORES;
  const sorted = [...scores].sort((a, b) => (a.scorer_name < b.scorer_name ? -1 : 1));
  const details = sorted.flatMap((score): [string, object][] => {
    const detail = detailOf(score);
    return Object.keys(detail).length > 0 ? [[score.scorer_name, detail]] : [];
  });
  // fromEntries defines members, so that a scorer named __proto__ is like any other
  return {
    scores: toRawJson(Object.fromEntries(sorted.map(({ scorer_name, score }) => [scorer_name, score]))),
    score_details: details.length > 0 ? toRawJson(Object.fromEntries(details)) : EMPTY_OBJECT,
  };
}

/** Returns the members of a score besides its number that have a value. */
export const detailOf = ({ metadata, comment, label, scorer_id, scorer_version }: Parts): ScoreDetail => ({
  ...(metadata !== null && metadata.text !== '{}' && { metadata }),
  ...(comment !== null && { comment }),
  ...(label !== null && { label }),
  ...(scorer_id !== null && { scorer_id }),
  ...(scorer_version !== null && { scorer_version }),
});
