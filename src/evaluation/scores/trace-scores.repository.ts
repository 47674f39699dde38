import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { BulkColumns, empty, raw, type Sql, sql, type SqlExecutor } from '#platform/db';
import {
  type ScoreCondition,
  type ScoredTrace,
  type ScoreOrder,
  TRACE_SCORES_MAX,
  type TraceScore,
  TraceScores,
} from '../../telemetry';
import { unknownScorers } from './scorer-names.repository';

const CONDITIONS = new BulkColumns<ScoreCondition & { place: number }>([
  { name: 'place', type: 'int8', value: ({ place }) => place },
  { name: 'scorer', type: 'text', value: ({ scorer }) => scorer },
  { name: 'source', type: 'text', value: ({ source }) => source },
  { name: 'low', type: 'float8', value: ({ from }) => from },
  { name: 'high', type: 'float8', value: ({ to }) => to },
]);

const tableOf = (conditions: readonly ScoreCondition[]) =>
  CONDITIONS.table(
    conditions.map((condition, place) => ({ ...condition, place })),
    'condition',
  );

const NOT_SUPERSEDED = raw('s.superseded_at IS NULL');

const sourceFilter = (source: ScoreCondition['source']): Sql =>
  source === null ? empty : sql`AND s.source = ${source}`;

/** Maximum number of scores of a trace, newest first, that are searched for those that a list shows. */
const SHOWN_OF_MAX = 1_000;

/**
 * The scores that count of a trace, and of the results that reference it, which are few. A scorer's score of the trace itself
 * takes precedence over those of results, whose outputs may differ from the trace's. OFFSET or LIMIT keeps further conditions and
 * sorts out of the lookup: without statistics, PostgreSQL would choose another index for them, and read all scores of a
 * scorer for each trace. The workspace is a subquery, because PostgreSQL expects no rows for a workspace that is not in its
 * statistics, and might choose any index for it.
 *
 * @param trace alias of a row with `trace_id`
 */
const scoresOf = (workspaceId: string, trace: string, limit = raw('OFFSET 0')): Sql =>
  sql`(SELECT * FROM (SELECT own.*, bool_or(own.result_id IS NULL) OVER (PARTITION BY own.scorer_name) AS has_own
    FROM (SELECT * FROM scores own WHERE own.workspace_id = (SELECT ${workspaceId}::text) AND own.trace_id = ${raw(trace)}.trace_id
    AND own.superseded_at IS NULL AND (own.result_id IS NULL OR own.is_current OR own.source IN ('human', 'end_user')) ${limit}) own
  ) own WHERE own.result_id IS NULL OR NOT own.has_own)`;

/**
 * The scores of a trace by a scorer that count. Of several hosted scores, only the newest of the highest version counts.
 *
 * @param trace alias of a row with `trace_id`
 * @param scorer alias of a row with `scorer` and `source`
 */
const countedOf = (workspaceId: string, trace: string, scorer: string): Sql =>
  sql`(SELECT * FROM (
      SELECT own.*, first_value(own.score_id) OVER (PARTITION BY own.source = 'hosted' ORDER BY is_earlier, own.score_id DESC)
               AS newest_id
      FROM (
        SELECT own.*, own.scorer_version < max(own.scorer_version) OVER (PARTITION BY own.source, own.scorer_id) AS is_earlier
        FROM ${scoresOf(workspaceId, trace)} own
        WHERE own.scorer_name = ${raw(scorer)}.scorer
          AND (${raw(scorer)}.source IS NULL OR own.source = ${raw(scorer)}.source)
      ) own
    ) own WHERE (own.source <> 'hosted' OR own.score_id = newest_id) AND own.score IS NOT NULL)`;

/**
 * Reads the scores of traces for their lists. Statements are not prepared, because a plan made for a small table would read
 * all scores of a workspace for each trace.
 */
@Injectable()
export class TraceScoresRepository extends TraceScores {
  async findMatching(
    on: SqlExecutor,
    { workspaceId }: Scope,
    conditions: readonly ScoreCondition[],
    limit: number,
  ): Promise<string[] | null> {
    const { source } = conditions[0]!;
    const rows = await on.query<{ place: number; ids: string[]; count: number }>(
      sql`SELECT condition.place, f.ids, f.count FROM ${tableOf(conditions)} CROSS JOIN LATERAL (
            SELECT array_agg(DISTINCT trace_id) AS ids, count(*) AS count FROM (
              SELECT s.trace_id FROM scores s
              WHERE s.workspace_id = (SELECT ${workspaceId}::text) AND s.scorer_name = condition.scorer
                AND s.score BETWEEN condition.low AND condition.high AND s.score IS NOT NULL AND ${NOT_SUPERSEDED}
                ${sourceFilter(source)}
              ORDER BY s.score, s.score_id LIMIT ${limit + 1}) few
          ) f ORDER BY condition.place`,
    );
    const few = rows.find((one) => one.count <= limit);
    return few ? (few.ids ?? []).filter((id) => id !== null) : null;
  }

  async filterMatching(
    on: SqlExecutor,
    { workspaceId }: Scope,
    traceIds: readonly string[],
    conditions: readonly ScoreCondition[],
  ): Promise<Set<string>> {
    const rows = await on.query<{ trace_id: string }>(
      sql`SELECT t.trace_id FROM unnest(${traceIds}::text[]) AS t(trace_id)
          WHERE NOT EXISTS (SELECT FROM ${tableOf(conditions)} WHERE NOT EXISTS (
            SELECT FROM ${countedOf(workspaceId, 't', 'condition')} s
            WHERE s.score BETWEEN condition.low AND condition.high) OFFSET 0)`,
    );
    return new Set(rows.map(({ trace_id }) => trace_id));
  }

  listByScore(
    on: SqlExecutor,
    { workspaceId }: Scope,
    { scorer, source, traceIds, descending, after, limit }: ScoreOrder,
  ): Promise<ScoredTrace[]> {
    const direction = raw(descending ? 'DESC' : 'ASC');
    const position = after
      ? sql` AND (s.score, s.score_id) ${raw(descending ? '<' : '>')} (${after.score}::float8, ${after.score_id})`
      : empty;
    const condition = sql`(SELECT ${scorer}::text AS scorer, ${source}::text AS source OFFSET 0) condition`;
    const first = sql`ORDER BY score ${direction}, score_id ${direction} LIMIT 1`;
    if (traceIds) {
      return on.query<ScoredTrace>(
        sql`SELECT t.trace_id, s.score, s.score_id
          FROM unnest(${traceIds}::text[]) AS t(trace_id) CROSS JOIN ${condition} CROSS JOIN LATERAL (
            SELECT score, score_id FROM ${countedOf(workspaceId, 't', 'condition')} own ${first}) s
          WHERE true${position} ORDER BY s.score ${direction}, s.score_id ${direction} LIMIT ${limit}`,
      );
    }
    return on.query<ScoredTrace>(
      sql`SELECT s.trace_id, s.score, s.score_id FROM scores s
        WHERE s.workspace_id = (SELECT ${workspaceId}::text) AND s.scorer_name = ${scorer} AND s.score IS NOT NULL AND ${NOT_SUPERSEDED}
          AND s.trace_id IS NOT NULL ${sourceFilter(source)}${position}
          AND s.score_id = (
            SELECT score_id FROM (SELECT ${scorer}::text AS scorer, ${source}::text AS source) condition
            CROSS JOIN LATERAL (SELECT score, score_id FROM ${countedOf(workspaceId, 's', 'condition')} own) o
            ${first})
        ORDER BY s.score ${direction}, s.score_id ${direction} LIMIT ${limit}`,
    );
  }

  unknownScorers(on: SqlExecutor, scope: Scope, names: readonly string[]): Promise<string[]> {
    return unknownScorers(on, scope, names);
  }

  async findByTraces(
    on: SqlExecutor,
    { workspaceId }: Scope,
    traceIds: readonly string[],
  ): Promise<Map<string, TraceScore[]>> {
    const newest = raw(`ORDER BY own.score_id DESC LIMIT ${SHOWN_OF_MAX}`);
    const rows = await on.query<TraceScore & { trace_id: string }>(
      sql`SELECT s.* FROM unnest(${traceIds}::text[]) AS t(trace_id) CROSS JOIN LATERAL (
            SELECT trace_id, scorer_name, scorer_id, scorer_version, source, score, label, author, target_kind, experiment_id,
                   result_id, score_id, created_at
            FROM ${scoresOf(workspaceId, 't', newest)} s ORDER BY score_id DESC LIMIT ${raw(String(TRACE_SCORES_MAX))}) s`,
    );
    const scores = new Map<string, TraceScore[]>();
    for (const { trace_id, ...score } of rows) {
      const existing = scores.get(trace_id);
      if (existing) existing.push(score);
      else scores.set(trace_id, [score]);
    }
    return scores;
  }
}
