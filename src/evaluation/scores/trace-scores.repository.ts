import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { BulkColumns, empty, prepared, raw, type Sql, sql, type SqlExecutor } from '#platform/db';
import {
  type ScoreCondition,
  type ScoredTrace,
  type ScoreOrder,
  SCORES_SHOWN,
  type TraceScore,
  TraceScores,
} from '../../telemetry';

const CONDITIONS = new BulkColumns<ScoreCondition & { place: number }>([
  { name: 'place', type: 'int8', value: ({ place }) => place },
  { name: 'scorer', type: 'text', value: ({ scorer }) => scorer },
  { name: 'low', type: 'float8', value: ({ from }) => from },
  { name: 'high', type: 'float8', value: ({ to }) => to },
]);

const tableOf = (conditions: readonly ScoreCondition[]) =>
  CONDITIONS.table(
    conditions.map((condition, place) => ({ ...condition, place })),
    'given',
  );

const IS_CURRENT = raw('s.superseded_at IS NULL');

/**
 * The current scores of a trace, and of the results that reference it, which are few. OFFSET keeps further conditions and sorts out of the lookup: without
 * statistics, PostgreSQL would choose another index for them, and read all scores of a scorer for each trace.
 *
 * @param trace alias of a row with `trace_id`
 */
const scoresOf = (workspaceId: string, trace: string): Sql =>
  sql`(SELECT * FROM scores own WHERE own.workspace_id = ${workspaceId} AND own.trace_id = ${raw(trace)}.trace_id
    AND own.superseded_at IS NULL OFFSET 0)`;

/** The scores of traces, for their lists. */
@Injectable()
export class TraceScoresRepository extends TraceScores {
  async matching(
    on: SqlExecutor,
    { workspaceId }: Scope,
    conditions: readonly ScoreCondition[],
    limit: number,
  ): Promise<string[] | null> {
    const found = await on.query<{ place: number; ids: string[]; found: number }>(
      prepared(
        'trace-scores.matching',
        sql`SELECT given.place, f.ids, f.found FROM ${tableOf(conditions)} CROSS JOIN LATERAL (
            SELECT array_agg(DISTINCT trace_id) AS ids, count(*) AS found FROM (
              SELECT s.trace_id FROM scores s
              WHERE s.workspace_id = ${workspaceId} AND s.scorer_name = given.scorer
                AND s.score BETWEEN given.low AND given.high AND s.score IS NOT NULL AND ${IS_CURRENT}
              LIMIT ${limit + 1}) few
          ) f ORDER BY given.place`,
      ),
    );
    const few = found.find((one) => one.found <= limit);
    return few ? (few.ids ?? []).filter((id) => id !== null) : null;
  }

  async among(
    on: SqlExecutor,
    { workspaceId }: Scope,
    traceIds: readonly string[],
    conditions: readonly ScoreCondition[],
  ): Promise<Set<string>> {
    const found = await on.query<{ trace_id: string }>(
      prepared(
        'trace-scores.among',
        sql`SELECT t.trace_id FROM unnest(${traceIds}::text[]) AS t(trace_id)
          WHERE NOT EXISTS (SELECT FROM ${tableOf(conditions)} WHERE NOT EXISTS (
            SELECT FROM ${scoresOf(workspaceId, 't')} s
            WHERE s.scorer_name = given.scorer AND s.score BETWEEN given.low AND given.high) OFFSET 0)`,
      ),
    );
    return new Set(found.map(({ trace_id }) => trace_id));
  }

  ordered(
    on: SqlExecutor,
    { workspaceId }: Scope,
    { scorer, descending, after, limit }: ScoreOrder,
  ): Promise<ScoredTrace[]> {
    const [before, direction] = [raw(descending ? '>' : '<'), raw(descending ? 'DESC' : 'ASC')];
    const position = after
      ? sql` AND (s.score, s.score_id) ${raw(descending ? '<' : '>')} (${after.score}::float8, ${after.score_id})`
      : empty;
    return on.query<ScoredTrace>(
      sql`SELECT s.trace_id, s.score, s.score_id FROM scores s
        WHERE s.workspace_id = ${workspaceId} AND s.scorer_name = ${scorer} AND s.score IS NOT NULL AND ${IS_CURRENT}
          AND s.trace_id IS NOT NULL${position}
          AND NOT EXISTS (
            SELECT FROM ${scoresOf(workspaceId, 's')} o
            WHERE o.scorer_name = s.scorer_name AND (o.score, o.score_id) ${before} (s.score, s.score_id))
        ORDER BY s.score ${direction}, s.score_id ${direction} LIMIT ${limit}`,
    );
  }

  async ofTraces(
    on: SqlExecutor,
    { workspaceId }: Scope,
    traceIds: readonly string[],
  ): Promise<Map<string, TraceScore[]>> {
    const found = await on.query<TraceScore & { trace_id: string }>(
      prepared(
        'trace-scores.of-traces',
        sql`SELECT s.* FROM unnest(${traceIds}::text[]) AS t(trace_id) CROSS JOIN LATERAL (
            SELECT trace_id, scorer_name, scorer_id, scorer_version, source, score, label, author, score_id, created_at
            FROM ${scoresOf(workspaceId, 't')} s ORDER BY score_id DESC LIMIT ${raw(String(SCORES_SHOWN))}) s`,
      ),
    );
    const scores = new Map<string, TraceScore[]>();
    for (const { trace_id, ...score } of found) {
      const known = scores.get(trace_id);
      if (known) known.push(score);
      else scores.set(trace_id, [score]);
    }
    return scores;
  }
}
