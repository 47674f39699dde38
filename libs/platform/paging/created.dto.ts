import type { Where } from '#platform/db';
import { firstMillisecond, instantOf, IsTime, NotBelow, NotNull } from '#platform/http';
import { firstIdAt, type IdPrefix } from '#platform/ids';
import { NamedListQueryDto } from './page.dto';

const DAY_MS = 24 * 60 * 60 * 1000;

/** What lists and searches take that narrow by the time of creation. */
export class CreatedListQueryDto extends NamedListQueryDto {
  /** Made at this time or later (RFC 3339). */
  @NotNull()
  @IsTime({ required: false })
  created_after?: string;

  /** Made before this time (RFC 3339). */
  @NotNull()
  @IsTime({ required: false })
  @NotBelow('created_after', instantOf)
  created_before?: string;
}

/** The column of a resource's own id, and the prefix that its ids have. */
interface OwnId {
  prefix: IdPrefix;
  id: string;
}

/**
 * Narrows a list by the time of creation. Ids hold that time too, but for what clocks are put back: bounds of them, a
 * day wider, let a list that is in their order begin where it matters instead of passing over all that is newer.
 */
export function addCreated(
  where: Where,
  { prefix, id }: OwnId,
  { created_after, created_before }: CreatedListQueryDto,
): void {
  if (created_after !== undefined) {
    const time = firstMillisecond(created_after);
    where.add(`created_at >= ? AND ${id} >= ?`, time, firstIdAt(prefix, time.getTime() - DAY_MS));
  }
  if (created_before !== undefined) {
    const time = firstMillisecond(created_before);
    where.add(`created_at < ? AND ${id} < ?`, time, firstIdAt(prefix, time.getTime() + DAY_MS));
  }
}
