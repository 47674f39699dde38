import { Injectable } from '@nestjs/common';
import type { OrgScope } from '#platform/auth';
import { parseTime, timeFault } from '#platform/http';
import { checkStart, decodeCursor, encodeCursor, foreignCursor, PAGE_SIZE_DEFAULT } from '#platform/paging';
import { problem } from '#platform/problem';
import { type ModelUsagePageDto, type ModelUsageQueryDto, USAGE_GROUPS, type UsageGroup } from './usage.dto';
import { isUsagePlace, type UsagePlace, type UsageRange, UsageRepository } from './usage.repository';

/** Reads the usage and cost of model calls. */
@Injectable()
export class UsageService {
  constructor(private readonly usage: UsageRepository) {}

  /** Returns a page of groups. Errors: 400 for an unknown group, an invalid range and a cursor of another list. */
  async list(scope: OrgScope, query: ModelUsageQueryDto): Promise<ModelUsagePageDto> {
    checkStart(query);
    const { limit = PAGE_SIZE_DEFAULT, offset = 0, cursor } = query;
    const groups = groupsOf(query.group_by ?? 'model');
    const range = usageRange(query, new Date());
    const after = cursor === undefined ? undefined : placeOf(cursor, groups);
    const [found, { sums, groupCount }] = await Promise.all([
      limit === 0 ? [] : this.usage.groups(scope, query, range, groups, { limit, offset, after }),
      this.usage.total(scope, query, range, groups),
    ]);
    const last = found.length > limit ? found[limit - 1] : undefined;
    const items = found.slice(0, limit).map(({ place: _, ...item }) => item);
    const next_cursor = last ? encodeCursor({ sort: SORT, id: '', key: JSON.stringify(last.place) }) : null;
    const total = query.total === false ? null : groupCount;
    return { items, total: sums, page: { limit, offset, total, next_cursor } };
  }
}

/** Names the list in its cursors. */
const SORT = 'usage';

/** Returns the place in a cursor. Errors: 400 for a cursor of another list. */
function placeOf(cursor: string, groups: readonly UsageGroup[]): UsagePlace {
  const { sort, key } = decodeCursor(cursor);
  const place: unknown = sort === SORT && key !== null ? parseOrNull(key) : null;
  if (!isUsagePlace(place, groups)) throw foreignCursor();
  return place;
}

function parseOrNull(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return null;
  }
}

function groupsOf(text: string): UsageGroup[] {
  const requested = new Set(text.split(',').map((group) => group.trim()));
  const groups = USAGE_GROUPS.filter((group) => requested.has(group));
  if (groups.length === requested.size) return groups;
  throw problem.invalidQuery('group_by', `must be a comma-separated list of ${USAGE_GROUPS.join(', ')}`);
}

const DAY_MS = 24 * 60 * 60 * 1000;
const DATE = /^\d{4}-\d{2}-\d{2}$/;

/**
 * Returns the days (UTC) that a query selects. Default: the month of `now`. Errors: 400 for texts that are neither dates nor times,
 * or an end before the start.
 */
function usageRange({ since, until }: { since?: string; until?: string }, now: Date): UsageRange {
  const month = (offset: number): number => Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + offset, 1);
  const from = since === undefined ? month(0) : timeOf('since', since);
  const to = until === undefined ? Math.max(month(1), from) : timeOf('until', until);
  if (to < from) throw problem.invalidQuery('until', 'must not be before `since`');
  const [first, last] = [Math.floor(from / DAY_MS), Math.ceil(to / DAY_MS)];
  return { since: dayOf('since', first * DAY_MS), until: dayOf('until', last * DAY_MS) };
}

function timeOf(parameter: string, text: string): number {
  const time = parseTime(DATE.test(text) ? `${text}T00:00:00Z` : text);
  if (time) return time.getTime();
  const expected = 'must be a date or a time (RFC 3339), such as 2026-11-01 or 2026-11-01T00:00:00Z';
  throw problem.invalidQuery(parameter, timeFault(text, expected));
}

function dayOf(parameter: string, millis: number): string {
  const text = new Date(millis).toISOString();
  // years below 0 and above 9999 have a sign
  if (/^\d{4}-/.test(text) && !text.startsWith('0000')) return text.slice(0, 10);
  throw problem.invalidQuery(parameter, 'must be a time from the year 1 to the year 9999');
}
