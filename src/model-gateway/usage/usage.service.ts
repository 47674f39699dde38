import { Injectable } from '@nestjs/common';
import type { OrgScope } from '#platform/auth';
import { PAGE_SIZE_DEFAULT } from '#platform/paging';
import { problem } from '#platform/problem';
import { usageRange } from './usage-range';
import { type ModelUsagePageDto, type ModelUsageQueryDto, USAGE_GROUPS, type UsageGroup } from './usage.dto';
import { UsageRepository } from './usage.repository';

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
