import { applyDecorators } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import { Transform } from 'class-transformer';
import { IsBoolean, IsOptional } from 'class-validator';
import { instantOf, IsNullableText, IsOneOf, IsOptionalTime, IsWholeNumber, NotBelow } from '#platform/http';
import { BY_CHANGE, BY_NAME } from './list-spec';

export const PAGE_SIZE_DEFAULT = 50;
export const PAGE_SIZE_MAX = 500;
const OFFSET_MAX = 2 ** 31 - 1;
/** A page of large items ends once it has this many bytes. */
export const PAGE_BYTES = 4 * 1024 * 1024;
/** Totals are exact up to this many rows, and null beyond. */
export const TOTAL_MAX = 100_000;

/** Converts a query parameter into a number. Leaves anything else unchanged, so that validation rejects it. */
export const ToNumber = (): PropertyDecorator =>
  Transform(({ value }: { value: unknown }) =>
    typeof value === 'string' && /^-?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(value) ? Number(value) : value,
  );

/** Reads an integer from a query. Other values stay unchanged, and fail validation. */
export const ToInteger = () =>
  Transform(({ value }: { value: unknown }) =>
    typeof value === 'string' && /^-?\d{1,15}$/.test(value) ? Number(value) : value,
  );

/** Reads `true` or `false` from a query. */
export const ToBoolean = () =>
  Transform(({ value }: { value: unknown }) => (value === 'true' ? true : value === 'false' ? false : value));

const sortedBy = (members: string[]): PropertyDecorator =>
  applyDecorators(
    IsOptional(),
    IsOneOf(
      members.flatMap((member) => [member, `-${member}`]),
      {
        required: false,
        description: 'The member to sort by, in ascending order. A leading `-` sorts in descending order.',
      },
    ),
  );

/** Declares the sorts of a list's query: the `sorts` of its `ListSpec`. */
export const SortedBy =
  (...members: string[]): ClassDecorator =>
  ({ prototype }) =>
    sortedBy(members)(prototype as object, 'sort');

/** Query parameters that select a page of a list. */
export class PageQueryDto {
  /**
   * Maximum number of items; 0 returns no items, only the total. A page may have fewer if its items are large (several MiB
   * in total): continue with `next_cursor`.
   */
  @IsOptional()
  @ToInteger()
  @IsWholeNumber({ required: false, minimum: 0, maximum: PAGE_SIZE_MAX, format: 'int32', default: 50 })
  limit?: number;

  /** Number of items to skip. Cannot be combined with `cursor`. */
  @IsOptional()
  @ToInteger()
  @IsWholeNumber({ required: false, minimum: 0, maximum: OFFSET_MAX, format: 'int32', default: 0 })
  offset?: number;

  /** `next_cursor` of the previous page of this list with these filters. Continues at the same cost at any depth. */
  @IsNullableText(2048, 0)
  cursor?: string;

  /** `false` skips counting: `total` is null. */
  @IsOptional()
  @IsBoolean()
  @ToBoolean()
  @ApiProperty({ required: false, default: true })
  total?: boolean;
}

/** Query parameters of a list whose rows are never archived. */
export class OrderedListQueryDto extends PageQueryDto {
  @sortedBy(['created_at'])
  sort?: string;

  /** Only items created at or after this time (RFC 3339). */
  @IsOptionalTime()
  since?: string;

  /** Only items created before this time (RFC 3339). */
  @IsOptionalTime()
  @NotBelow('since', instantOf)
  until?: string;
}

/** Query parameters of all other lists. */
export class ListQueryDto extends OrderedListQueryDto {
  /** Includes archived items, if the items of the list can be archived. */
  @IsOptional()
  @IsBoolean()
  @ToBoolean()
  include_archived?: boolean;
}

/** Query parameters of a list that sorts `BY_CHANGE`. */
@SortedBy(...Object.keys(BY_CHANGE))
export class ChangingListQueryDto extends ListQueryDto {}

/** Query parameters of a list that sorts `BY_NAME`. */
@SortedBy(...Object.keys(BY_NAME))
export class NamedListQueryDto extends ListQueryDto {}

/** The position of a page in its list. */
export class PageMetaDto {
  @ApiProperty({ type: 'integer', format: 'int32', minimum: 0 })
  limit!: number;

  @ApiProperty({ type: 'integer', format: 'int32', minimum: 0 })
  offset!: number;

  /** Exact up to 100,000, null beyond and with `total=false`. Counted once, for the first page; pages read with a cursor repeat that count. */
  @ApiProperty({ type: 'integer', format: 'int64', minimum: 0, nullable: true })
  total!: number | null;

  /** Pass it as `cursor` to get the next page. Null on the last page. */
  next_cursor!: string | null;
}

/** A page of a list. */
export interface Page<View> {
  items: View[];
  page: PageMetaDto;
}

/** Returns the class of a page of views, for a DTO to extend. */
export function PageOf<View>(type: new () => View): new () => Page<View> {
  class PageDto implements Page<View> {
    @ApiProperty({ type: [type] })
    items!: View[];
    @ApiProperty({ type: PageMetaDto })
    page!: PageMetaDto;
  }
  return PageDto;
}
