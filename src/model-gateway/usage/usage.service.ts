import { Injectable } from '@nestjs/common';
import type { OrgScope } from '#platform/auth';
import { parseTime } from '#platform/http';
import { PAGE_SIZE_DEFAULT } from '#platform/paging';
import { problem } from '#platform/problem';
import { type ModelUsagePageDto, type ModelUsageQueryDto, USAGE_GROUPS, type UsageGroup } from './usage.dto';
import { type UsageRange, UsageRepository } from './usage.repository';

/** Reads the usage and cost of model calls. */
@Injectable()
export class UsageService {
  constructor(private readonly usage: UsageRepository) {}

  /** Returns a page of groups. Errors: 400 for an unknown group and an invalid range. */
  async list(scope: OrgScope, query: ModelUsageQueryDto): Promise<ModelUsagePageDto> {
    const { limit = PAGE_SIZE_DEFAULT, offset = 0 } = query;
    const groups = groupsOf(query.group_by ?? 'model');
    const range = usageRange(query, new Date());
    const [items, { sums, groupCount }] = await Promise.all([
      limit === 0 ? [] : this.usage.groups(scope, query, range, groups, { limit, offset }),
      this.usage.total(scope, query, range, groups),
    ]);
    return { items, total: sums, page: { limit, offset, total: groupCount, next_cursor: null } };
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
  const detail = 'must be a date or a time (RFC 3339), such as 2026-11-01 or 2026-11-01T00:00:00Z';
  throw problem.invalidQuery(parameter, detail);
}

function dayOf(parameter: string, millis: number): string {
  const text = new Date(millis).toISOString();
  // years below 0 and above 9999 have a sign
  if (/^\d{4}-/.test(text) && !text.startsWith('0000')) return text.slice(0, 10);
  throw problem.invalidQuery(parameter, 'must be a time from the year 1 to the year 9999');
}
