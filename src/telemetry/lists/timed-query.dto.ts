import { firstMicrosecond, instantOf, IsTime, NotBelow, NotNull } from '#platform/http';
import { ListQueryDto } from '#platform/paging';
import type { TimeBounds } from '../trace-list';

/** Query parameters that narrow a list by the time that it is sorted by. */
export class TimedListQueryDto extends ListQueryDto {
  /** Those of this time or later, by what the list is sorted by (RFC 3339). */
  @NotNull()
  @IsTime({ required: false })
  since?: string;

  /** Those before this time, by what the list is sorted by (RFC 3339). */
  @NotNull()
  @IsTime({ required: false })
  @NotBelow('since', instantOf)
  until?: string;
}

/** Times of a query. */
export const toTimes = ({ since, until }: TimedListQueryDto): TimeBounds => ({
  ...(since !== undefined && { since_us: firstMicrosecond(since) }),
  ...(until !== undefined && { until_us: firstMicrosecond(until) }),
});
