import { ApiProperty } from '@nestjs/swagger';
import { IsBoolean, IsInt, IsOptional, IsString, Length, Max, MaxLength, Min } from 'class-validator';
import { IsOneOf, ValuesCheckedLater } from '#platform/http';
import { ToBoolean } from '#platform/paging';
import { ON_CONFLICT, type OnConflict } from './record.dto';
import { SOURCE_KINDS, type SourceKind } from './record.entity';

export const EXPORT_FORMATS = ['jsonl', 'csv'] as const;
export type ExportFormat = (typeof EXPORT_FORMATS)[number];

/** Media types of records on their way in and out, one for each format. */
export const EXPORT_MEDIA = { jsonl: 'application/jsonl', csv: 'text/csv' } as const;

/** Those that an import takes; JSON Lines go by several names, none of which is registered. */
export const IMPORT_MEDIA = [EXPORT_MEDIA.jsonl, 'application/x-ndjson', EXPORT_MEDIA.csv] as const;

/** What is exported. */
export class RecordExportQueryDto {
  @IsOptional()
  @IsOneOf(EXPORT_FORMATS, { required: false, default: 'jsonl' })
  format?: ExportFormat;

  /** Also those that were archived. */
  @IsOptional()
  @IsBoolean()
  @ToBoolean()
  include_archived?: boolean;

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

const CONFLICT_DESCRIPTION =
  'What becomes of a record whose `external_id` a live record of the dataset has: 409, and nothing is imported (`error`); that record stays as it is (`skip`); it gets a new version that holds what is imported and nothing else (`update`).';

/** How records that are sent as text are imported. */
export class RecordImportQueryDto {
  /** The workspace that X-Service-Workspace-Id names. */
  @IsOptional()
  @IsString()
  workspace_id?: string;

  @IsOptional()
  @IsOneOf(ON_CONFLICT, { required: false, default: 'error', description: CONFLICT_DESCRIPTION })
  on_conflict?: OnConflict;
}

/** Imports the rows of a CSV version of the dataset. */
@ValuesCheckedLater()
export class ImportVersionDto {
  /** The workspace that X-Service-Workspace-Id names. */
  @IsString()
  workspace_id!: string;

  /** The number of the version. */
  @ApiProperty({ type: 'integer', format: 'int32', minimum: 1 })
  @IsInt()
  @Min(1)
  @Max(2_147_483_647)
  dataset_version!: number;

  @IsOptional()
  @IsOneOf(ON_CONFLICT, { required: false, default: 'error', description: CONFLICT_DESCRIPTION })
  on_conflict?: OnConflict | null;
}

/** What became of the records that were imported. */
export class RecordImportDto {
  @ApiProperty({ type: 'integer', minimum: 0 })
  created_count!: number;
  /** Present ones that got a new version. */
  @ApiProperty({ type: 'integer', minimum: 0 })
  updated_count!: number;
  /** Present ones that held the same already. */
  @ApiProperty({ type: 'integer', minimum: 0 })
  unchanged_count!: number;
  /** Those that were left out because there is one of their `external_id`. */
  @ApiProperty({ type: 'integer', minimum: 0 })
  skipped_count!: number;
}
