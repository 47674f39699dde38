import { applyDecorators } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import { Transform } from 'class-transformer';
import { ArrayMaxSize, IsString, Length, Matches, MaxLength } from 'class-validator';
import { instantOf, IsTime, NotBelow, NotNull } from '#platform/http';
import { ListQueryDto } from '#platform/paging';
import { NAME_MAX } from './span-mapping/field.parser';

/** Query parameters that narrow a list by the time that it is sorted by. */
export class TimedListQueryDto extends ListQueryDto {
  /** This time or later, by the time that the list is sorted by (RFC 3339). */
  @NotNull()
  @IsTime({ required: false })
  since?: string;

  /** Before this time, by the time that the list is sorted by (RFC 3339). */
  @NotNull()
  @IsTime({ required: false })
  @NotBelow('since', instantOf)
  until?: string;
}

const ATTRIBUTES_MAX = 10;
const ATTRIBUTE_LENGTH_MAX = 1_000;

/** The key is not empty and ends at the first colon. */
const ATTRIBUTE = /^[^:]+:/;

/** The query parameter `attribute`: pairs `key:value`, all of which must hold. */
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

/** Query parameters that narrow lists of logs and metrics. All of them must hold. */
export class RecordListQueryDto extends TimedListQueryDto {
  /** `service.name` of the resource, compared exactly. */
  @NotNull()
  @IsString()
  @Length(1, NAME_MAX)
  service_name?: string;

  /**
   * `key:value` of an attribute of the record or of its resource. The key ends at the first colon. Texts are compared as
   * they are, anything else as JSON (`retry:true`). Repeatable; all must hold.
   */
  @AttributePairs()
  attribute?: string[];
}
