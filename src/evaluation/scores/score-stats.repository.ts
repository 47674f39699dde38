import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { empty, join, raw, type Sql, sql, type SqlExecutor } from '#platform/db';
import { joinTraceFact } from '../../telemetry';
import { firstMillisecond } from '#platform/http';
import type { ScoreGroup, ScoreStatsQueryDto, ScoreStatsValuesDto } from './score-stats.dto';
import { exactSum, meanText } from '../statistics';
import { conditionsOf } from './score.repository';

type Filters = Omit<ScoreStatsQueryDto, 'workspace_id' | 'group_by' | 'pass_score'>;

/** Maximum number of groups in a response. */
export const STATS_ROWS_MAX = 10_000;

/** A group, by the names in `group_by`, and its statistics. */
export type ScoreStatsRow = { group: Record<string, string | number | null> } & {
  values: ScoreStatsValuesDto;
};

/** Scores are scaled by a power of two if interpolating between two of them overflows. The tiniest then count as 0. */
const SCALE = '2::float8 ^ 64';
const SCALED = `CASE WHEN abs(t.score) < 1e-200 THEN 0 ELSE t.score / (${SCALE}) END`;

const percentile = (share: number, isScaled: boolean): Sql =>
  isScaled
    ? raw(`percentile_cont(${share}) WITHIN GROUP (ORDER BY ${SCALED}) * (${SCALE})`)
    : raw(`percentile_cont(${share}) WITHIN GROUP (ORDER BY t.score)`);

const dayOf = (time: string): string => `to_char(${time} AT TIME ZONE 'UTC', 'YYYY-MM-DD')`;

const GROUPS: Record<ScoreGroup, string> = {
  scorer: 't.scorer_name',
  version: 't.scorer_version',
  source: 't.source',
  label: 't.label',
  day: dayOf('t.created_at'),
  tag: 'of_tag.value',
  model: 'of_model.model',
  service: 'of_service_name.service_name',
  agent_version: 'of_agent_version.agent_version',
  user_id: 'of_user_id.user_id',
  environment: 'of_environment.environment',
  prompt_name: 'of_prompt_name.prompt_name',
  prompt_version: 'of_prompt_version.prompt_version',
  hour: `to_char(t.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:00:00"Z"')`,
  trace_day: dayOf('of_started_at.started_at'),
};

const JOINS: Partial<Record<ScoreGroup, Sql>> = {
  tag: raw(`LEFT JOIN LATERAL (
      SELECT tags FROM results r
      WHERE r.workspace_id = t.workspace_id AND r.experiment_id = t.experiment_id AND r.result_id = t.result_id OFFSET 0
    ) of_result ON true LEFT JOIN LATERAL unnest(of_result.tags) AS of_tag(value) ON true`),
  model: joinTraceFact('t', 'model'),
  service: joinTraceFact('t', 'service_name'),
  agent_version: joinTraceFact('t', 'agent_version'),
  user_id: joinTraceFact('t', 'user_id'),
  environment: joinTraceFact('t', 'environment'),
  prompt_name: joinTraceFact('t', 'prompt_name'),
  prompt_version: joinTraceFact('t', 'prompt_version'),
  trace_day: joinTraceFact('t', 'started_at'),
};

/** Returns the joins that groups and time filters need, each table once. */
const joinsOf = (groupBy: readonly ScoreGroup[], { trace_since, trace_until }: Filters): Set<Sql> => {
  const isTimed = trace_since !== undefined || trace_until !== undefined;
  const names = isTimed ? [...groupBy, 'trace_day' as const] : groupBy;
  return new Set(names.flatMap((name) => JOINS[name] ?? []));
};

const traceTimesOf = ({ trace_since, trace_until }: Filters): Sql[] => [
  ...(trace_since === undefined ? [] : [sql`of_started_at.started_at >= ${firstMillisecond(trace_since)}`]),
  ...(trace_until === undefined ? [] : [sql`of_started_at.started_at < ${firstMillisecond(trace_until)}`]),
];

const allOf = (parts: Sql[]): Sql => (parts.length > 0 ? join(parts, ' ') : empty);

interface Groups {
  groupBy: readonly ScoreGroup[];
  passScore: number;
}

/** Computes statistics of the scores that are not superseded. */
@Injectable()
export class ScoreStatsRepository {
  /** Returns up to `STATS_ROWS_MAX` + 1 groups, in the order of their values. Statistics of finite scores are finite. */
  async stats(on: SqlExecutor, scope: Scope, filters: Filters, groups: Groups): Promise<ScoreStatsRow[]> {
    const rows = await this.read(on, scope, filters, groups);
    const isFinite = rows.every(({ values }) => !Object.values(values).some(isInfinite));
    return isFinite ? rows : this.read(on, scope, filters, groups, { isScaled: true });
  }

  private async read(
    on: SqlExecutor,
    scope: Scope,
    filters: Filters,
    { groupBy, passScore }: Groups,
    { isScaled = false } = {},
  ): Promise<ScoreStatsRow[]> {
    const groups = groupBy.map((name, i) => raw(`${GROUPS[name]} AS group_${i}, `));
    const places = raw(groupBy.map((_, i) => `${i + 1}`).join(', '));
    const order = raw(groupBy.map((_, i) => `${i + 1} NULLS LAST`).join(', '));
    const percentiles = PERCENTILES.map(
      ([name, share]) => sql`${percentile(share, isScaled)} AS ${raw(name)}, `,
    );
    const rows = await on.query<Record<string, string | number | null>>(
      sql`SELECT ${allOf(groups)}count(t.score) AS count, count(*) - count(t.score) AS null_count,
          ${meanText(exactSum('t.score'), 'count(t.score)')} AS mean,
          avg((t.score >= ${passScore}::float8)::integer)::float8 AS pass_rate,
          min(t.score) AS min, ${allOf(percentiles)}max(t.score) AS max
        FROM scores t ${allOf([...joinsOf(groupBy, filters)])}
        WHERE ${join([...conditionsOf(scope, filters), ...traceTimesOf(filters)], ' AND ')}
        ${groupBy.length > 0 ? sql`GROUP BY ${places} ORDER BY ${order}` : empty}
        LIMIT ${STATS_ROWS_MAX + 1}`,
    );
    return rows.map(({ mean, ...row }) => ({
      group: Object.fromEntries(groupBy.map((name, i) => [name, row[`group_${i}`] ?? null])),
      values: {
        ...Object.fromEntries(Object.entries(row).filter(([name]) => !name.startsWith('group_'))),
        mean: mean === null ? null : Number(mean),
      } as unknown as ScoreStatsValuesDto,
    }));
  }
}

const PERCENTILES = [
  ['p10', 0.1],
  ['p25', 0.25],
  ['p50', 0.5],
  ['p75', 0.75],
  ['p90', 0.9],
  ['p95', 0.95],
  ['p99', 0.99],
] as const;

const isInfinite = (value: unknown): boolean => typeof value === 'number' && !Number.isFinite(value);
