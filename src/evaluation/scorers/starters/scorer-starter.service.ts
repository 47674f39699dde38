import { Injectable } from '@nestjs/common';
import { decodeCursor, encodeCursor, type Page, PAGE_SIZE_DEFAULT } from '#platform/paging';
import { problem } from '#platform/problem';
import {
  type ScorerStarterDto,
  type ScorerStarterListQueryDto,
  toScorerStarterDto,
} from './scorer-starter.dto';
import { SCORER_STARTERS } from './scorer-starters';

/** Lists the starters, which are the same for everybody. */
@Injectable()
export class ScorerStarterService {
  /** Returns a page of the matching starters. Errors: 400 for a cursor of another list, or a cursor with an offset. */
  list(query: ScorerStarterListQueryDto): Page<ScorerStarterDto> {
    if (query.cursor !== undefined && query.offset !== undefined) {
      throw problem.invalidQuery('cursor', 'cannot be combined with offset');
    }
    const sort = query.sort ?? 'created_at';
    const matching = SCORER_STARTERS.filter(
      ({ scorer_kind, grain, tags }) =>
        (query.scorer_kind ?? scorer_kind) === scorer_kind &&
        (query.grain ?? grain) === grain &&
        (query.tag === undefined || tags.includes(query.tag)),
    );
    const starters = sort === 'created_at' ? matching : matching.reverse();
    const start =
      query.cursor === undefined
        ? (query.offset ?? 0)
        : startAfter(starters, decodeCursor(query.cursor), sort);
    const limit = query.limit ?? PAGE_SIZE_DEFAULT;
    const items = starters.slice(start, start + limit);
    const last = items.at(-1);
    const hasMore = start + items.length < starters.length;
    return {
      items: items.map(toScorerStarterDto),
      page: {
        limit,
        offset: query.offset ?? 0,
        total: starters.length,
        next_cursor: last && hasMore ? encodeCursor({ sort, key: null, id: last.starter_id }) : null,
      },
    };
  }
}

/** Returns the index at which the page after a cursor starts. */
function startAfter(
  starters: readonly { starter_id: string }[],
  cursor: ReturnType<typeof decodeCursor>,
  sort: string,
): number {
  const index = starters.findIndex(({ starter_id }) => starter_id === cursor.id);
  if (index < 0 || cursor.sort !== sort || cursor.key !== null) {
    throw problem.invalidQuery('cursor', 'belongs to another list or sort');
  }
  return index + 1;
}
