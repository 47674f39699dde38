import { ApiProperty } from '@nestjs/swagger';
import {
  ArrayMaxSize,
  ArrayMinSize,
  IsArray,
  IsOptional,
  IsString,
  Length,
  MaxLength,
} from 'class-validator';
import {
  AnyJson,
  AnyJsonObject,
  IsJson,
  IsJsonObject,
  IsOneOf,
  IsTags,
  METADATA_MAX_BYTES,
  NotNull,
  ValuesCheckedLater,
} from '#platform/http';
import { ChangingListQueryDto, PageMetaDto } from '#platform/paging';
import { ProblemDto } from '#platform/problem';
import { BULK_MAX } from '../shared/bulk-limits';
import { SOURCE_KINDS, type SourceKind } from './record.entity';

/** A case, as it is written alone or as an item of a bulk create. */
export class RecordFieldsDto {
  @IsJson({ required: true, description: 'What the subject is given. Any JSON value, kept as sent.' })
  input!: unknown;

  @IsOptional()
  @IsJson({ required: false, description: 'What a right answer would be. Any JSON value, kept as sent.' })
  expected?: unknown;

  @IsOptional()
  @IsJsonObject({ maxBytes: METADATA_MAX_BYTES, description: 'Free-form, at most 16 KiB as JSON.' })
  metadata?: object | null;

  @IsOptional()
  @IsTags()
  tags?: string[] | null;

  @IsOptional()
  @IsString()
  @Length(1, 255)
  label?: string | null;

  @IsOptional()
  @IsString()
  @Length(1, 255)
  category?: string | null;

  @IsOptional()
  @IsOneOf(SOURCE_KINDS, { required: false, default: 'manual' })
  source_kind?: SourceKind | null;

  /** What the record was made from, such as a trace id. */
  @IsOptional()
  @IsString()
  @Length(1, 512)
  source_ref?: string | null;

  /** Your own key for the record, unique among the dataset's live records. */
  @IsOptional()
  @IsString()
  @Length(1, 255)
  external_id?: string | null;
}

@ValuesCheckedLater()
export class CreateRecordDto extends RecordFieldsDto {
  /** The workspace that X-Service-Workspace-Id names. */
  @IsString()
  workspace_id!: string;
}

/** A merge patch (RFC 7396); `input` and `expected` are replaced whole. */
@ValuesCheckedLater()
export class PatchRecordDto {
  /** Only the present one (422). */
  @NotNull()
  @IsString()
  workspace_id?: string;

  /** Only the present one (422 `immutable_field`). */
  @NotNull()
  @IsString()
  dataset_id?: string;

  /** Only the present one (422 `immutable_field`). */
  @NotNull()
  @IsString()
  dataset_record_id?: string;

  @IsOptional()
  @IsJson({ required: false })
  input?: unknown;

  @IsOptional()
  @IsJson({ required: false })
  expected?: unknown;

  @IsOptional()
  @IsJsonObject({ nullable: true, description: 'Merged into the present metadata; null empties it.' })
  metadata?: object | null;

  @IsOptional()
  @IsTags()
  tags?: string[] | null;

  @IsOptional()
  @IsString()
  @Length(1, 255)
  label?: string | null;

  @IsOptional()
  @IsString()
  @Length(1, 255)
  category?: string | null;

  @NotNull()
  @IsOneOf(SOURCE_KINDS, { required: false })
  source_kind?: SourceKind;

  @IsOptional()
  @IsString()
  @Length(1, 512)
  source_ref?: string | null;

  @IsOptional()
  @IsString()
  @Length(1, 255)
  external_id?: string | null;
}

export const ON_CONFLICT = ['error', 'skip', 'update'] as const;
export type OnConflict = (typeof ON_CONFLICT)[number];

@ValuesCheckedLater()
export class BulkRecordsDto {
  /** The workspace that X-Service-Workspace-Id names. */
  @IsString()
  workspace_id!: string;

  /**
   * What becomes of an item whose `external_id` a live record has: 409 (`error`), the record as it is (`skip`), or a new
   * version of it that holds what the item holds and nothing else (`update`).
   */
  @IsOptional()
  @IsOneOf(ON_CONFLICT, { required: false, default: 'error' })
  on_conflict?: OnConflict | null;

  /** 1 to 100 records. Each is validated by itself, so that one bad item does not sink the rest. */
  @ApiProperty({ type: [RecordFieldsDto], minItems: 1, maxItems: BULK_MAX })
  @IsArray()
  @ArrayMinSize(1)
  @ArrayMaxSize(BULK_MAX)
  items!: unknown[];
}

export class RecordListQueryDto extends ChangingListQueryDto {
  /**
   * Words in input, expected or metadata; the last letters of each may be missing. Of input and expected, what is
   * searched is the first 40,000 characters of JSON.
   */
  @IsOptional()
  @IsString()
  @MaxLength(1000)
  q?: string;

  @IsOptional()
  @IsString()
  @MaxLength(255)
  label?: string;

  @IsOptional()
  @IsString()
  @MaxLength(255)
  category?: string;

  /** Records with this tag. */
  @IsOptional()
  @IsString()
  @Length(1, 255)
  tag?: string;

  @IsOptional()
  @IsOneOf(SOURCE_KINDS, { required: false })
  source_kind?: SourceKind;

  @IsOptional()
  @IsString()
  @MaxLength(512)
  source_ref?: string;

  @IsOptional()
  @IsString()
  @MaxLength(255)
  external_id?: string;
}

/** One version of a case. */
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

/** A case of a dataset, as it stands: its newest version. */
export class RecordDto extends RecordVersionDto {
  updated_at!: Date;
  archived_at!: Date | null;
}

export class RecordPageDto {
  items!: RecordDto[];
  page!: PageMetaDto;
}

export class RecordVersionPageDto {
  items!: RecordVersionDto[];
  page!: PageMetaDto;
}

/** What became of one item of a bulk create. */
export class BulkRecordItemDto {
  @ApiProperty({ type: 'integer', minimum: 0 })
  index!: number;
  @ApiProperty({
    type: 'integer',
    description: '201 made, 200 found or updated (`on_conflict`), else the error.',
  })
  status_code!: number;
  record?: RecordDto;
  error?: ProblemDto;
}

export class BulkRecordsAnswerDto {
  items!: BulkRecordItemDto[];
}
