import { ApiProperty } from '@nestjs/swagger';
import { ArrayMaxSize, ArrayMinSize, IsArray, IsOptional, IsString } from 'class-validator';
import {
  AnyJson,
  AnyJsonObject,
  IsJson,
  IsJsonObject,
  IsOneOf,
  IsTags,
  KeepsJson,
  METADATA_MAX_BYTES,
  NotNull,
  ValuesCheckedLater,
  ReadOnlyMembersOf,
  viewOf,
  IsImmutable,
  IsNullableText,
  IsOptionalText,
} from '#platform/http';
import { ChangingListQueryDto, PageOf } from '#platform/paging';
import type { ProblemDto } from '#platform/problem';
import { BULK_MAX } from '../../../resources';
import { SOURCE_KINDS, type SourceKind } from './record.entity';

/** Members that create and PATCH share. */
class RecordMembersDto {
  @IsOptional()
  @IsJson({ required: false, description: 'The expected answer. Any JSON value, stored as sent.' })
  expected?: unknown;

  @IsOptional()
  @IsTags()
  tags?: string[] | null;

  @IsNullableText(255)
  label?: string | null;

  @IsNullableText(255)
  category?: string | null;

  /** The source of the record, such as a trace id. */
  @IsNullableText(512)
  source_ref?: string | null;

  /** Your own key for the record, unique among the dataset's records that are not archived. */
  @IsNullableText(255)
  external_id?: string | null;
}

/** A record to create, alone or in bulk. */
@ReadOnlyMembersOf(() => RecordDto)
export class RecordFieldsDto extends RecordMembersDto {
  @IsJson({
    required: true,
    description: 'The input of the evaluated system. Any JSON value, stored as sent.',
  })
  input!: unknown;

  @IsOptional()
  @IsJsonObject({ maxBytes: METADATA_MAX_BYTES, description: 'Free-form, at most 16 KiB as JSON.' })
  metadata?: object | null;

  @IsOptional()
  @IsOneOf(SOURCE_KINDS, { required: false, default: 'manual' })
  source_kind?: SourceKind | null;
}

@ValuesCheckedLater()
export class CreateRecordDto extends RecordFieldsDto {
  /** The workspace that X-Service-Workspace-Id names. */
  @IsString()
  workspace_id!: string;
}

/** A merge patch (RFC 7396). `input` and `expected` are replaced as a whole. */
@ValuesCheckedLater()
@ReadOnlyMembersOf(() => RecordDto)
export class PatchRecordDto extends RecordMembersDto {
  @IsImmutable('Must be the current workspace (422).')
  workspace_id?: string;

  @IsImmutable()
  dataset_id?: string;

  @IsImmutable()
  dataset_record_id?: string;

  @IsOptional()
  @IsJson({ required: false })
  input?: unknown;

  @IsOptional()
  @IsJsonObject({ nullable: true, description: 'Merged into the current metadata. Null clears it.' })
  metadata?: object | null;

  @NotNull()
  @IsOneOf(SOURCE_KINDS, { required: false })
  source_kind?: SourceKind;
}

export const ON_CONFLICT = ['error', 'skip', 'update'] as const;
export type OnConflict = (typeof ON_CONFLICT)[number];

@ValuesCheckedLater()
export class BulkRecordsDto {
  /** The workspace that X-Service-Workspace-Id names. */
  @IsString()
  workspace_id!: string;

  /**
   * How to handle an item whose `external_id` a record already has, unless that record is archived: `error` returns 409,
   * `skip` leaves the existing record unchanged, and `update` gives it a new version with exactly the item's content.
   */
  @IsOptional()
  @IsOneOf(ON_CONFLICT, { required: false, default: 'error' })
  on_conflict?: OnConflict | null;

  /** 1 to 100 records. Each is validated on its own, so one bad item does not affect the rest. */
  @ApiProperty({ type: [RecordFieldsDto], minItems: 1, maxItems: BULK_MAX })
  @KeepsJson({ isSeparate: true })
  @IsArray()
  @ArrayMinSize(1)
  @ArrayMaxSize(BULK_MAX)
  items!: unknown[];
}

export class RecordListQueryDto extends ChangingListQueryDto {
  /**
   * Words or word prefixes in `input`, `expected` or `metadata`. The search covers the first 40,000 characters of the
   * JSON of input and expected.
   */
  @IsOptionalText(1000, 0)
  q?: string;

  @IsOptionalText(255, 0)
  label?: string;

  @IsOptionalText(255, 0)
  category?: string;

  /** Records with this tag. */
  @IsOptionalText(255)
  tag?: string;

  @IsOptional()
  @IsOneOf(SOURCE_KINDS, { required: false })
  source_kind?: SourceKind;

  @IsOptionalText(512, 0)
  source_ref?: string;

  @IsOptionalText(255, 0)
  external_id?: string;
}

/** The filters that lists and exports share. */
export const RECORD_FILTERS = [
  'label',
  'category',
  'tag',
  'source_kind',
  'source_ref',
  'external_id',
] as const;

/** One version of a record. */
export class RecordVersionDto {
  dataset_record_id!: string;
  dataset_id!: string;
  workspace_id!: string;
  @ApiProperty({ type: 'integer', format: 'int32', minimum: 1 })
  version!: number;
  version_id!: string;
  @AnyJson()
  input!: unknown;
  @AnyJson()
  expected!: unknown;
  @AnyJsonObject()
  metadata!: object;
  tags!: string[];
  label!: string | null;
  category!: string | null;
  @ApiProperty({ enum: SOURCE_KINDS })
  source_kind!: SourceKind;
  source_ref!: string | null;
  external_id!: string | null;
  created_at!: Date;
  created_by!: string;
}

/** The newest version of a record. */
export class RecordDto extends RecordVersionDto {
  updated_at!: Date;
  archived_at!: Date | null;
}

export class RecordPageDto extends PageOf(RecordDto) {}

export class RecordVersionPageDto extends PageOf(RecordVersionDto) {}

/** The outcome of one item of a bulk create. */
export class BulkRecordItemDto {
  @ApiProperty({ type: 'integer', minimum: 0 })
  index!: number;
  @ApiProperty({
    type: 'integer',
    description:
      '201: created; 200: an existing record was skipped or updated (see `on_conflict`); otherwise the ' +
      'status of the error.',
  })
  status_code!: number;
  record?: RecordDto;
  error?: ProblemDto;
}

export class BulkRecordsResponseDto {
  items!: BulkRecordItemDto[];
}

export const toRecordVersionDto = viewOf(RecordVersionDto);

export const toRecordDto = viewOf(RecordDto);
