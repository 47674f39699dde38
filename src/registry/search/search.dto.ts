import { ApiProperty } from '@nestjs/swagger';
import {
  ArrayMaxSize,
  IsArray,
  IsInt,
  IsNumber,
  IsObject,
  IsString,
  Max,
  MaxLength,
  Min,
} from 'class-validator';
import { ClosedBody, instantOf, IsOneOf, IsTime, Nested, NotBelow, NotNull } from '#platform/http';
import { PAGE_SIZE_MAX, PageMetaDto } from '#platform/paging';
import { DIMENSIONS_MAX } from './embeddings/remote.embedder';
import { SEARCH_TYPES, type SearchType } from './search-document';

export const SEARCH_MODES = ['keyword', 'vector', 'hybrid'] as const;
export type SearchMode = (typeof SEARCH_MODES)[number];

const QUERY_MAX = 1_000;
const OFFSET_MAX = 2 ** 31 - 1;

/** What a document itself tells, besides its words: all that are given must hold. */
@ClosedBody()
export class SearchFiltersDto {
  /** Changed at this time or later. */
  @NotNull()
  @IsTime({ required: false })
  updated_after?: string;

  /** Changed before this time. */
  @NotNull()
  @IsTime({ required: false })
  @NotBelow('updated_after', instantOf)
  updated_before?: string;
}

@ClosedBody()
export class SearchDto {
  /**
   * What is looked for: at most 32 words, of which the last letters may be missing. Needed in the modes `keyword` and
   * `hybrid`, and in the mode `vector` without a `vector`.
   */
  @NotNull()
  @IsString()
  @MaxLength(QUERY_MAX)
  query?: string;

  /** By words, by the nearness of embeddings, or by both. */
  @ApiProperty({ default: 'hybrid' })
  @NotNull()
  @IsOneOf(SEARCH_MODES, { required: false, default: 'hybrid' })
  mode?: SearchMode;

  /** Those of these types; of all unless given. */
  @NotNull()
  @IsArray()
  @ArrayMaxSize(SEARCH_TYPES.length)
  @IsOneOf(SEARCH_TYPES, { each: true, required: false })
  types?: SearchType[];

  /** Those of this workspace. */
  @NotNull()
  @IsString()
  @MaxLength(255)
  workspace_id?: string;

  /** What the embeddings are held against, in place of that of the query: of as many numbers as they have. */
  @ApiProperty({ type: 'array', items: { type: 'number' }, required: false })
  @NotNull()
  @IsArray()
  @ArrayMaxSize(DIMENSIONS_MAX)
  @IsNumber({ allowNaN: false, allowInfinity: false }, { each: true })
  vector?: number[];

  @NotNull()
  @IsObject()
  @Nested(() => SearchFiltersDto)
  filters?: SearchFiltersDto;

  /** Items on a page; 0 gives none, and the total. */
  @ApiProperty({
    type: 'integer',
    format: 'int32',
    minimum: 0,
    maximum: PAGE_SIZE_MAX,
    default: 50,
    required: false,
  })
  @NotNull()
  @IsInt()
  @Min(0)
  @Max(PAGE_SIZE_MAX)
  limit?: number;

  /** Items to pass over. */
  @ApiProperty({
    type: 'integer',
    format: 'int32',
    minimum: 0,
    maximum: OFFSET_MAX,
    default: 0,
    required: false,
  })
  @NotNull()
  @IsInt()
  @Min(0)
  @Max(OFFSET_MAX)
  offset?: number;
}

/** Places in the two rankings, from 1; null where it was not found that way, or that way was not gone. */
export class SearchRanksDto {
  @ApiProperty({ type: 'integer', format: 'int32', minimum: 1, nullable: true })
  keyword!: number | null;

  @ApiProperty({ type: 'integer', format: 'int32', minimum: 1, nullable: true })
  vector!: number | null;
}

export class SearchItemDto {
  @ApiProperty({ enum: SEARCH_TYPES })
  type!: SearchType;
  /** Of the resource. */
  id!: string;
  name!: string;
  description!: string | null;
  workspace_id!: string;
  /**
   * The larger the better, comparable within one answer. By words: 0 to 1, below 0.5 where words are missing. By
   * vectors: the cosine. By both: the sum of 1/(60 + rank).
   */
  score!: number;
  ranks!: SearchRanksDto;
  /** A passage of name, description or text, as HTML: words that were found in `<mark>`, all else escaped. */
  highlight!: string | null;
}

export class SearchPageDto {
  items!: SearchItemDto[];
  /** The total is null where more were found than are ranked; `next_cursor` is null, and `offset` goes on. */
  page!: PageMetaDto;
  /** The mode was `hybrid`, and the query could not be embedded: what was found was found by words alone. */
  vector_unavailable!: boolean;
}
