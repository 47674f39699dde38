import { ApiProperty } from '@nestjs/swagger';
import { ArrayMaxSize, IsArray, IsNumber, IsObject, IsString, MaxLength } from 'class-validator';
import { instantOf, IsOneOf, Nested, NotBelow, NotNull, IsOptionalTime, IsWholeNumber } from '#platform/http';
import { PAGE_SIZE_MAX, PageMetaDto } from '#platform/paging';
import { DIMENSIONS_MAX } from './embeddings/remote.embedder';
import { SEARCH_TYPES, type SearchType } from '../../resources';

export const SEARCH_MODES = ['keyword', 'vector', 'hybrid'] as const;
export type SearchMode = (typeof SEARCH_MODES)[number];

const QUERY_MAX = 1_000;
const OFFSET_MAX = 2 ** 31 - 1;

/** Conditions on the document itself. All of them must hold. */
export class SearchFiltersDto {
  /** Only resources that changed at this time or later. */
  @IsOptionalTime()
  updated_after?: string;

  /** Only resources that changed before this time. */
  @IsOptionalTime()
  @NotBelow('updated_after', instantOf)
  updated_before?: string;
}

export class SearchDto {
  /**
   * The words to search for, at most 32; each also matches as a prefix. Required in the modes `keyword` and `hybrid`, and in
   * the mode `vector` unless you send `vector`.
   */
  @NotNull()
  @IsString()
  @MaxLength(QUERY_MAX)
  query?: string;

  /** Search by keywords, by embeddings, or by both. */
  @ApiProperty({ default: 'hybrid' })
  @NotNull()
  @IsOneOf(SEARCH_MODES, { required: false, default: 'hybrid' })
  mode?: SearchMode;

  /** Only resources of these types. Default: all types. */
  @NotNull()
  @IsArray()
  @ArrayMaxSize(SEARCH_TYPES.length)
  @IsOneOf(SEARCH_TYPES, { each: true, required: false })
  types?: SearchType[];

  /** Only resources of this workspace. */
  @NotNull()
  @IsString()
  @MaxLength(255)
  workspace_id?: string;

  /**
   * The vector to compare with, instead of the embedding of the query. It must have as many dimensions as the stored
   * embeddings.
   */
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

  /** Items per page. With 0, the response contains only the total. */
  @NotNull()
  @IsWholeNumber({ required: false, minimum: 0, maximum: PAGE_SIZE_MAX, format: 'int32', default: 50 })
  limit?: number;

  /** Items to skip. */
  @NotNull()
  @IsWholeNumber({ required: false, minimum: 0, maximum: OFFSET_MAX, format: 'int32', default: 0 })
  offset?: number;
}

/** Ranks in the keyword and the vector search, from 1. Null if that search did not find the document or was not used. */
export class SearchRanksDto {
  @ApiProperty({ type: 'integer', format: 'int32', minimum: 1, nullable: true })
  keyword!: number | null;

  @ApiProperty({ type: 'integer', format: 'int32', minimum: 1, nullable: true })
  vector!: number | null;
}

export class SearchItemDto {
  @ApiProperty({ enum: SEARCH_TYPES })
  type!: SearchType;
  /** The id of the resource. */
  id!: string;
  name!: string;
  description!: string | null;
  workspace_id!: string;
  /**
   * Higher is better, and comparable only within one response. In the mode `keyword`, 0 to 1, and below 0.5 if words are
   * missing; in `vector`, the cosine; in `hybrid`, the sum of 1/(60 + rank).
   */
  score!: number;
  ranks!: SearchRanksDto;
  /** A passage of the name, description or text as HTML, with matching words in `<mark>` and everything else escaped. */
  highlight!: string | null;
}

export class SearchPageDto {
  items!: SearchItemDto[];
  /** `total` is null if there are more hits than the search ranks. `next_cursor` is always null: use `offset`. */
  page!: PageMetaDto;
  /** True if the mode is `hybrid` and the query could not be embedded. The results then come from the keyword search only. */
  vector_unavailable!: boolean;
}
