import { applyDecorators } from '@nestjs/common';
import { ApiProperty, OmitType } from '@nestjs/swagger';
import { Transform } from 'class-transformer';
import { ArrayMaxSize, Matches, MaxLength } from 'class-validator';
import { instantOf, NotBelow, NotNull, IsOptionalText, IsOptionalTime } from '#platform/http';
import { ListQueryDto } from '#platform/paging';
import { NAME_MAX } from './span-mapping/field.parser';

/** Query of a list that is sorted by time. */
export class TimedListQueryDto extends OmitType(ListQueryDto, ['since', 'until']) {
  /**
   * Inclusive lower bound (RFC 3339) of `started_at` of a trace, `last_started_at` of a session, `logged_at` of a log record, or
   * `measured_at` of a data point.
   */
  @IsOptionalTime()
  since?: string;

  /** Exclusive upper bound (RFC 3339) of the same time. */
  @IsOptionalTime()
  @NotBelow('since', instantOf)
  until?: string;
}

const ATTRIBUTES_MAX = 10;
const ATTRIBUTE_LENGTH_MAX = 1_000;

/** The key is not empty and ends at the first colon. */
const ATTRIBUTE = /^[^:]+:/;

/** Declares the query parameter `attribute`: pairs `key:value`, all of which must match. */
export const AttributePairs = () =>
  applyDecorators(
    ApiProperty({
      type: 'array',
      items: { type: 'string', pattern: ATTRIBUTE.source, maxLength: ATTRIBUTE_LENGTH_MAX },
      maxItems: ATTRIBUTES_MAX,
      required: false,
    }),
    NotNull(),
    Transform(({ value }: { value: unknown }) => (typeof value === 'string' ? [value] : value)),
    ArrayMaxSize(ATTRIBUTES_MAX),
    Matches(ATTRIBUTE, { each: true, message: 'must be of the form key:value' }),
    MaxLength(ATTRIBUTE_LENGTH_MAX, { each: true }),
  );

/** Query of a list of logs or metrics. Records must meet all filters. */
export class RecordListQueryDto extends TimedListQueryDto {
  /** `service.name` of the resource, compared exactly. */
  @IsOptionalText(NAME_MAX)
  service_name?: string;

  /**
   * `key:value` of an attribute of the record or of its resource. The key ends at the first colon. Strings are compared
   * verbatim, other values as JSON (`retry:true`). Repeatable: all pairs must match.
   */
  @AttributePairs()
  attribute?: string[];
}
