import { Injectable } from '@nestjs/common';
import type { OrgScope } from '#platform/auth';
import { Database, join, prepared, raw, type Sql, sql, Where } from '#platform/db';
import { toJsonText } from '#platform/json';
import { readableWorkspaces } from '../../resources';
import type { SpendRow } from '../budgets/spend.repository';
import type { ModelUsageDto, ModelUsageQueryDto, ModelUsageTotalDto, UsageGroup } from './usage.dto';

/** Days in UTC, such as `2026-11-01`. `until` is exclusive. */
export interface UsageRange {
  since: string;
  until: string;
}

/** The columns of each grouping: for GROUP BY, and for the result. */
const GROUPS: Record<UsageGroup, { columns: string[]; selected: string[] }> = {
  day: { columns: ['day'], selected: ["to_char(day, 'YYYY-MM-DD') AS day"] },
  workspace: { columns: ['workspace_id'], selected: ['workspace_id'] },
  model: {
    columns: ['model_id'],
    selected: ['model_id', '(SELECT name FROM models m WHERE m.model_id = grouped.model_id) AS model'],
  },
  principal: { columns: ['principal_id'], selected: ['principal_id'] },
  provider: {
    columns: ['provider_id', 'upstream_model'],
    selected: [
      "nullif(provider_id, '') AS provider_id",
      "CASE WHEN provider_id <> '' THEN upstream_model END AS upstream_model",
    ],
  },
};

/** Members of `model_usage` that are added up. */
export const USAGE_COUNTS = [
  'call_count',
  'failed_count',
  'cached_count',
  'unpriced_count',
  'input_tokens',
  'output_tokens',
  'cached_input_tokens',
  'cache_write_tokens',
  'cost_usd',
] as const;

/** The members of `model_usage` that identify a row. The last two are empty for calls that reached no provider. */
export const USAGE_KEY = [
  'workspace_id',
  'day',
  'model_id',
  'principal_id',
  'provider_id',
  'upstream_model',
] as const;

/** A row of `model_usage`. */
export type UsageRow = Record<(typeof USAGE_KEY)[number] | 'org_id', string> &
  Record<(typeof USAGE_COUNTS)[number], number>;

const KEY = USAGE_KEY.join(', ');
const COLUMNS = [...USAGE_KEY, 'org_id', ...USAGE_COUNTS].join(', ');
const ADDED = USAGE_COUNTS.map((column) => `${column} = model_usage.${column} + excluded.${column}`).join(
  ', ',
);
const COUNTERS = USAGE_COUNTS.filter((column) => column !== 'cost_usd');
const SUMS = raw(
  [
    ...COUNTERS.map((counter) => `coalesce(sum(${counter}), 0)::bigint AS ${counter}`),
    // sums of floating-point numbers have rounding noise
    'round(coalesce(sum(cost_usd), 0)::numeric, 12)::float8 AS cost_usd',
  ].join(', '),
);

/** Adds calls to the usage, and sums it. */
@Injectable()
export class UsageRepository {
  constructor(private readonly database: Database) {}

  /**
   * Adds rows in one statement. There must be at most one row per key. Rows are written in the order of their keys, so that
   * processes do not deadlock.
   *
   * @returns the spending afterwards
   */
  add(usage: readonly UsageRow[], spending: readonly SpendRow[]): Promise<SpendRow[]> {
    return this.database.query<SpendRow>(
      prepared(
        'model-usage.add',
        sql`WITH upserted AS (
            INSERT INTO model_usage (${raw(COLUMNS)})
            SELECT ${raw(COLUMNS)} FROM json_populate_recordset(NULL::model_usage, ${toJsonText(usage)})
            ORDER BY ${raw(KEY)}
            ON CONFLICT (${raw(KEY)}) DO UPDATE SET ${raw(ADDED)}
          )
          INSERT INTO model_spend (subject, month, spent_usd)
          SELECT subject, month, spent_usd FROM json_populate_recordset(NULL::model_spend, ${toJsonText(spending)})
          ORDER BY subject, month
          ON CONFLICT (subject, month) DO UPDATE SET spent_usd = model_spend.spent_usd + excluded.spent_usd
          RETURNING subject, month::text, spent_usd`,
      ),
    );
  }

  /** Returns the groups of a page, sorted by day (if it is a grouping) and then by cost. */
  groups(
    scope: OrgScope,
    query: ModelUsageQueryDto,
    range: UsageRange,
    groups: readonly UsageGroup[],
    { limit, offset }: { limit: number; offset: number },
  ): Promise<ModelUsageDto[]> {
    const columns = groups.flatMap((group) => GROUPS[group].columns);
    const selected = [...groups.flatMap((group) => GROUPS[group].selected), ...COUNTERS, 'cost_usd'].join(
      ', ',
    );
    const order = [...(groups.includes('day') ? ['grouped.day'] : []), 'cost_usd DESC', 'call_count DESC'];
    return this.database.query<ModelUsageDto>(
      sql`SELECT ${raw(selected)} FROM (${this.groupQuery(scope, query, range, columns)}) grouped
        ORDER BY ${raw([...order, ...columns.map((column) => `grouped.${column}`)].join(', '))}
        LIMIT ${limit} OFFSET ${offset}`,
    );
  }

  /** Returns the totals of all groups, and the number of groups. */
  async total(
    scope: OrgScope,
    query: ModelUsageQueryDto,
    range: UsageRange,
    groups: readonly UsageGroup[],
  ): Promise<{ sums: ModelUsageTotalDto; groupCount: number }> {
    const columns = groups.flatMap((group) => GROUPS[group].columns);
    const [row] = await this.database.query<ModelUsageTotalDto & { group_count: number }>(
      sql`SELECT count(*) AS group_count, ${SUMS} FROM (${this.groupQuery(scope, query, range, columns)}) grouped`,
    );
    const { group_count: groupCount, ...sums } = row!;
    return { sums, groupCount };
  }

  private groupQuery(
    scope: OrgScope,
    query: ModelUsageQueryDto,
    { since, until }: UsageRange,
    columns: readonly string[],
  ): Sql {
    const by = raw(columns.join(', '));
    const where = new Where(scope.orgKey)
      .add(visible(scope))
      .add(sql`day >= ${since}::date AND day < ${until}::date`)
      .addIf(query.workspace_id, (id) => sql`workspace_id = ${id}`)
      .addIf(query.model_id, (id) => sql`model_id = ${id}`)
      .addIf(query.principal_id, (id) => sql`principal_id = ${id}`);
    return sql`SELECT ${by}, ${SUMS} FROM model_usage WHERE ${where.sql} GROUP BY ${by}`;
  }
}

/** Selects usage in workspaces where the caller is a viewer, and the caller's own usage where they hold the role `runtime`. */
function visible(scope: OrgScope): Sql {
  const viewerWorkspaces = readableWorkspaces(scope, ['viewer']);
  if (viewerWorkspaces === null) return sql`true`;
  const runtimeWorkspaces = readableWorkspaces(scope, ['runtime']);
  const own = [
    sql`principal_id = ${scope.principalId}`,
    ...(runtimeWorkspaces === null ? [] : [sql`workspace_id = ANY (${runtimeWorkspaces}::text[])`]),
  ];
  return sql`(workspace_id = ANY (${viewerWorkspaces}::text[]) OR (${join(own, ' AND ')}))`;
}
