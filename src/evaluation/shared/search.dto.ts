import type { Where } from '#platform/db';
import { firstMillisecond, IsTime, NotNull, parseTime } from '#platform/http';
import { NamedListQueryDto } from '#platform/paging';
import { NotBelow } from './bounds';

const instant = (value: unknown): number | null =>
  typeof value === 'string' ? (parseTime(value)?.getTime() ?? null) : null;

/** What lists and searches take that narrow by the time of creation. */
export class CreatedListQueryDto extends NamedListQueryDto {
  /** Made at this time or later (RFC 3339). */
  @NotNull()
  @IsTime({ required: false })
  created_after?: string;

  /** Made before this time (RFC 3339). */
  @NotNull()
  @IsTime({ required: false })
  @NotBelow('created_after', instant)
  created_before?: string;
}

/** Narrows a list by the time of creation. */
export function addCreated(where: Where, { created_after, created_before }: CreatedListQueryDto): void {
  if (created_after !== undefined) where.add('created_at >= ?', firstMillisecond(created_after));
  if (created_before !== undefined) where.add('created_at < ?', firstMillisecond(created_before));
}

/** A search body with null for a member of paging is one without it: `"cursor": page.next_cursor` of the last page. */
export const withoutNulls = <Body extends object>(body: Body): Body =>
  Object.fromEntries(Object.entries(body).filter(([, value]) => value !== null)) as Body;
