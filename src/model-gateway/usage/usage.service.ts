import { Injectable } from '@nestjs/common';
import type { OrgScope } from '#platform/auth';
import { PAGE_SIZE_DEFAULT } from '#platform/paging';
import { problem } from '#platform/problem';
import { usageRange } from './usage-range';
import { type ModelUsagePageDto, type ModelUsageQueryDto, USAGE_GROUPS, type UsageGroup } from './usage.dto';
import { UsageRepository } from './usage.repository';

/** What calls of models have used and cost. */
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
  const given = new Set(text.split(',').map((one) => one.trim()));
  const groups = USAGE_GROUPS.filter((group) => given.has(group));
  if (groups.length === given.size) return groups;
  throw problem.invalidQuery(
    'group_by',
    `must be ${USAGE_GROUPS.join(', ')}, or several of them with commas between them`,
  );
}
