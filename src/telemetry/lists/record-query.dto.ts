import { IsString, Length } from 'class-validator';
import { firstMicrosecond, instantOf, IsTime, NotBelow, NotNull } from '#platform/http';
import { ListQueryDto } from '#platform/paging';
import { NAME_MAX } from '../traces/span-record';
import { AttributePairs, toAttributeFilters } from './attribute-query';
import { type Condition, hasAttribute, type TimeBounds } from './record-list.repository';

/** Query parameters by which lists of logs and of metrics are narrowed. All that are given must hold. */
export class RecordListQueryDto extends ListQueryDto {
  /** Those of this time or later (RFC 3339). */
  @NotNull()
  @IsTime({ required: false })
  since?: string;

  /** Those before this time (RFC 3339). */
  @NotNull()
  @IsTime({ required: false })
  @NotBelow('since', instantOf)
  until?: string;

  /** `service.name` of the resource, compared exactly. */
  @NotNull()
  @IsString()
  @Length(1, NAME_MAX)
  service_name?: string;

  /**
   * `key:value` of an attribute, or of one of the resource. The key ends at the first colon. A text is compared as it is,
   * anything else as JSON writes it (`retry:true`). Repeatable; all must hold.
   */
  @AttributePairs()
  attribute?: string[];
}

/** Times of a query as records are stored. */
export const timesOf = ({ since, until }: RecordListQueryDto): TimeBounds => ({
  ...(since !== undefined && { since_us: firstMicrosecond(since) }),
  ...(until !== undefined && { until_us: firstMicrosecond(until) }),
});

/** Each attribute of a query, to be looked for in a record. */
export const attributesOf = ({ attribute }: RecordListQueryDto): Condition[] =>
  (toAttributeFilters(attribute) ?? []).map(hasAttribute);
