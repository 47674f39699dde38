import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { sql, type SqlExecutor } from '#platform/db';
import { RawJson, toRawJson } from '#platform/json';
import { hasPeople, peopleOfResults } from './current-scores.sql';
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
type ResultScore = CurrentScore & { result_id: string };

/** Reads the current scores of results. */
@Injectable()
export class CurrentScoresRepository {
  /** Returns results with their current scores. */
  async addTo<Result extends ScoredResult>(
    on: SqlExecutor,
    scope: Scope,
    results: readonly Result[],
  ): Promise<(Result & ShownScores)[]> {
    if (results.length === 0) return [];
    const byResult = new Map<string, CurrentScore[]>(results.map(({ result_id }) => [result_id, []]));
    for (const score of await this.read(on, scope, results)) byResult.get(score.result_id)!.push(score);
    return results.map((result) => ({ ...result, ...show(byResult.get(result.result_id)!) }));
  }

  private async read(
    on: SqlExecutor,
    { workspaceId }: Scope,
    results: readonly ScoredResult[],
  ): Promise<ResultScore[]> {
    const ids = results.map(({ result_id }) => result_id);
    const rows = await on.query<
      ResultScore & Pick<ScoreRow, 'source' | 'answers' | 'score_run_id'> & { has_people: boolean }
    >(
      sql`SELECT workspace.has_people, s.result_id, s.scorer_name, s.scorer_id, s.scorer_version, s.source, s.score, s.label,
            s.comment, s.metadata, s.answers, s.score_run_id
          FROM (SELECT ${hasPeople(workspaceId)} AS has_people OFFSET 0) workspace
          LEFT JOIN LATERAL (
            SELECT * FROM scores WHERE workspace_id = (SELECT ${workspaceId}::text) AND result_id = ANY (${ids}::text[])
              AND is_current OFFSET 0) s ON true`,
    );
    const machine = rows
      .filter(({ result_id }) => result_id !== null)
      .map(({ source, answers, score_run_id, metadata, ...score }) => ({
        ...score,
        metadata: source === 'hosted' ? toRawJson({ score_run_id, ...(answers && { answers }) }) : metadata,
      }));
    if (!rows[0]!.has_people) return machine;
    const table = sql`unnest(${ids}::text[], ${results.map(({ trace_id }) => trace_id)}::text[],
      ${results.map(({ session_id }) => session_id)}::text[])`;
    const people = await on.query<ResultScore>(
      sql`SELECT DISTINCT ON (result_id, scorer_name) * FROM (${peopleOfResults(workspaceId, sql`(SELECT * FROM ${table} AS ids(result_id, trace_id, session_id))`, { details: true })}) people
        ORDER BY result_id, scorer_name, scorer_version DESC, score_id DESC`,
    );
    const taken = new Set(machine.map(({ result_id, scorer_name }) => `${result_id} ${scorer_name}`));
    return [
      ...machine,
      ...people.filter(({ result_id, scorer_name }) => !taken.has(`${result_id} ${scorer_name}`)),
    ];
  }
}

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
export const detailOf = ({
  metadata,
  comment,
  label,
  scorer_id,
  scorer_version,
}: Omit<CurrentScore, 'scorer_name' | 'score'>): ScoreDetail => ({
  ...(metadata !== null && metadata.text !== '{}' && { metadata }),
  ...(comment !== null && { comment }),
  ...(label !== null && { label }),
  ...(scorer_id !== null && { scorer_id }),
  ...(scorer_version !== null && { scorer_version }),
});
