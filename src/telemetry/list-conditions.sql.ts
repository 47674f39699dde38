import { join, microsecondsToTime, raw, type Sql, sql, type Where } from '#platform/db';
import { firstMicrosecond } from '#platform/http';
import type { TimedListQueryDto } from './list-query.dto';

/** Returns the conditions that a time is at or after `since`, and before `until`, to the microsecond. */
export function timesOf(column: string, { since, until }: Pick<TimedListQueryDto, 'since' | 'until'>): Sql[] {
  const time = (text: string): Sql => microsecondsToTime(sql`${firstMicrosecond(text)}`);
  return [
    ...(since === undefined ? [] : [sql`${raw(column)} >= ${time(since)}`]),
    ...(until === undefined ? [] : [sql`${raw(column)} < ${time(until)}`]),
  ];
}

/** Restricts a list to the times of its query. */
export function addTimes(where: Where, column: string, query: TimedListQueryDto): Where {
  for (const condition of timesOf(column, query)) where.addScattered(condition);
  return where;
}

/** Returns the LIKE pattern that matches texts containing this one. */
export const containing = (text: string): string => `%${text.replace(/[\\%_]/g, '\\$&')}%`;

/**
 * Returns the condition that a JSON column contains a text. Matches the text as it is and with JSON's escapes of quotes and
 * line breaks, because strings in the column are escaped.
 */
export function mentionsInJson(column: string, text: string): Sql {
  const escaped = JSON.stringify(text).slice(1, -1);
  const patterns = [...new Set([escaped, text])].map(
    (one) => sql`${raw(column)}::text ILIKE ${containing(one)}`,
  );
  return join(patterns, ' OR ', '(', ')');
}

/**
 * Returns the conditions that a row or its resource has these attributes. A pair is `key:value`, and the key ends at the first
 * colon. Strings are compared verbatim, other values as JSON.
 *
 * @param row alias of a table with `attributes`, `workspace_id` and `source_id`
 */
export const attributeConditions = (row: string, pairs: readonly string[] = []): Sql[] =>
  pairs.map((pair) => {
    const [alias, colon] = [raw(row), pair.indexOf(':')];
    const [key, value] = [pair.slice(0, colon), pair.slice(colon + 1)];
    return sql`(${alias}.attributes ->> ${key}::text = ${value}::text OR EXISTS (
    SELECT 1 FROM span_sources o WHERE o.workspace_id = ${alias}.workspace_id AND o.source_id = ${alias}.source_id
      AND o.resource -> 'attributes' ->> ${key}::text = ${value}::text OFFSET 0))`;
  });
