import { Injectable } from '@nestjs/common';
import { mayRead, type OrgScope } from '#platform/auth';
import { Database, empty, join, prepared, raw, type Sql, sql, Where } from '#platform/db';
import { toJsonText } from '#platform/json';
import { readableWorkspaces } from '../../resources';
import type { AddedSpending, SpendRow } from '../budgets/spend.repository';
import type { ModelUsageDto, ModelUsageQueryDto, ModelUsageTotalDto, UsageGroup } from './usage.dto';

/** Days in UTC, such as `2026-11-01`. `until` is exclusive. */
export interface UsageRange {
  since: string;
  until: string;
}

const DAY = `to_char(grouped.day, 'YYYY-MM-DD')`;

/** The columns of each grouping: for GROUP BY, and for the result. */
const GROUPS: Record<UsageGroup, { columns: string[]; selected: (scope: OrgScope) => Sql }> = {
  day: { columns: ['day'], selected: () => sql`${raw(DAY)} AS day` },
  workspace: { columns: ['workspace_id'], selected: () => sql`workspace_id` },
  model: {
    columns: ['model_id'],
    selected: () => sql`model_id, (SELECT name FROM models m WHERE m.model_id = grouped.model_id) AS model`,
  },
  principal: {
    columns: ['principal_id'],
    selected: ({ orgId }) =>
      sql`principal_id, coalesce(
        (SELECT name FROM service_accounts s WHERE s.service_account_id = grouped.principal_id AND s.org_id = ${orgId}),
        (SELECT display_name FROM users u WHERE u.user_id = grouped.principal_id AND u.org_id = ${orgId})
      ) AS principal`,
  },
  provider: {
    columns: ['provider_id', 'upstream_model'],
    selected: () =>
      sql`nullif(provider_id, '') AS provider_id, CASE WHEN provider_id <> '' THEN upstream_model END AS upstream_model`,
  },
};

/** Where a page of groups starts: after a number of groups, or after the group with this key. */
export interface UsagePage {
  limit: number;
  offset: number;
  after: UsagePlace | undefined;
}

/** The place of a group in its list: its values in the order of the list. */
export type UsagePlace = readonly (string | number)[];

/** A part of the order of the groups. */
interface OrderPart {
  expression: string;
  type: 'float8' | 'bigint' | 'text';
}

/** Returns the order of the groups: by day (if it is a grouping), cost and calls, and then by the groups. */
const orderOf = (groups: readonly UsageGroup[]): OrderPart[] => [
  ...(groups.includes('day') ? [{ expression: DAY, type: 'text' as const }] : []),
  { expression: '-grouped.cost_usd', type: 'float8' },
  { expression: '-grouped.call_count', type: 'bigint' },
  ...columnsOf(groups)
    .filter((column) => column !== 'day')
    .map((column) => ({ expression: `grouped.${column}`, type: 'text' as const })),
];

const columnsOf = (groups: readonly UsageGroup[]): string[] =>
  groups.flatMap((group) => GROUPS[group].columns);

const PLACE_FORMS: Record<OrderPart['type'], (value: unknown) => boolean> = {
  float8: (value) => typeof value === 'number',
  bigint: (value) => Number.isSafeInteger(value),
  text: (value) => typeof value === 'string' && !value.includes('\0'),
};

/** Returns whether a value can be a place in the list of these groups. */
export const isUsagePlace = (value: unknown, groups: readonly UsageGroup[]): value is UsagePlace => {
  const order = orderOf(groups);
  return (
    Array.isArray(value) &&
    value.length === order.length &&
    order.every(({ type }, index) => PLACE_FORMS[type](value[index]))
  );
};

/** Members of `model_usage` that are added up. */
export const USAGE_COUNTS = [
  'call_count',
  'failed_count',
  'cached_count',
  'attempts',
  'failed_attempts',
  'unpriced_count',
  'estimated_count',
  'input_tokens',
  'output_tokens',
  'cached_input_tokens',
  'cache_write_tokens',
  'cost_usd',
  'estimated_usd',
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

/** The counts of a row that only counts attempts. */
export const NO_COUNTS = Object.fromEntries(USAGE_COUNTS.map((count) => [count, 0])) as Pick<
  UsageRow,
  (typeof USAGE_COUNTS)[number]
>;

const KEY = USAGE_KEY.join(', ');
const COLUMNS = [...USAGE_KEY, 'org_id', ...USAGE_COUNTS].join(', ');
const ADDED = USAGE_COUNTS.map((column) => `${column} = model_usage.${column} + excluded.${column}`).join(
  ', ',
);
const AMOUNTS: ReadonlySet<string> = new Set(['cost_usd', 'estimated_usd']);
const COUNTERS = USAGE_COUNTS.filter((column) => !AMOUNTS.has(column));
const SUMS = raw(
  [
    ...COUNTERS.map((counter) => `coalesce(sum(${counter}), 0)::bigint AS ${counter}`),
    // sums of floating-point numbers have rounding noise
    ...[...AMOUNTS].map((amount) => `round(coalesce(sum(${amount}), 0)::numeric, 12)::float8 AS ${amount}`),
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
  add(usage: readonly UsageRow[], spending: readonly AddedSpending[]): Promise<SpendRow[]> {
    return this.database.query<SpendRow>(
      prepared(
        'model-usage.add',
        sql`WITH upserted AS (
            INSERT INTO model_usage (${raw(COLUMNS)})
            SELECT ${raw(COLUMNS)} FROM json_populate_recordset(NULL::model_usage, ${toJsonText(usage)})
            ORDER BY ${raw(KEY)}
            ON CONFLICT (${raw(KEY)}) DO UPDATE SET ${raw(ADDED)}
          )
          INSERT INTO model_spend (subject, month, spent_usd, org_id, workspace_id)
          SELECT subject, month, spent_usd, org_id, workspace_id FROM json_populate_recordset(NULL::model_spend, ${toJsonText(spending)})
          ORDER BY subject, month
          ON CONFLICT (subject, month) DO UPDATE SET spent_usd = model_spend.spent_usd + excluded.spent_usd
          RETURNING subject, month::text, spent_usd`,
      ),
    );
  }

  /** Returns the groups of a page and one more, in their order, with their places. */
  groups(
    scope: OrgScope,
    query: ModelUsageQueryDto,
    range: UsageRange,
    groups: readonly UsageGroup[],
    { limit, offset, after }: UsagePage,
  ): Promise<(ModelUsageDto & { place: UsagePlace })[]> {
    const selected = groups.map((group) => GROUPS[group].selected(scope));
    const order = orderOf(groups);
    const keys = raw(order.map(({ expression }) => expression).join(', '));
    const values = after && order.map(({ type }, index) => sql`${after[index]}::${raw(type)}`);
    const start = values ? sql`WHERE (${keys}) > (${join(values, ', ')})` : empty;
    return this.database.query<ModelUsageDto & { place: UsagePlace }>(
      sql`SELECT ${join(selected, ', ')}, ${raw(USAGE_COUNTS.join(', '))}, json_build_array(${keys}) AS place
        FROM (${this.groupQuery(scope, query, range, columnsOf(groups))}) grouped ${start}
        ORDER BY ${keys} LIMIT ${limit + 1} OFFSET ${offset}`,
    );
  }

  /** Returns the totals of all groups, and the number of groups. */
  async total(
    scope: OrgScope,
    query: ModelUsageQueryDto,
    range: UsageRange,
    groups: readonly UsageGroup[],
  ): Promise<{ sums: ModelUsageTotalDto; groupCount: number }> {
    const [row] = await this.database.query<ModelUsageTotalDto & { group_count: number }>(
      sql`SELECT count(*) AS group_count, ${SUMS} FROM (${this.groupQuery(scope, query, range, columnsOf(groups))}) grouped`,
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

/**
 * Selects usage in workspaces where the caller is a viewer, and the caller's own usage where they hold the role `runtime`. A key
 * that may not read sees only its account's own usage.
 */
function visible(scope: OrgScope): Sql {
  const viewerWorkspaces = mayRead(scope) ? readableWorkspaces(scope, ['viewer']) : [];
  if (viewerWorkspaces === null) return sql`true`;
  const runtimeWorkspaces = readableWorkspaces(scope, ['runtime']);
  const own = [
    sql`principal_id = ${scope.principalId}`,
    ...(runtimeWorkspaces === null ? [] : [sql`workspace_id = ANY (${runtimeWorkspaces}::text[])`]),
  ];
  return sql`(workspace_id = ANY (${viewerWorkspaces}::text[]) OR (${join(own, ' AND ')}))`;
}
