import { ApiProperty, PickType } from '@nestjs/swagger';
import { IsBoolean, IsOptional, IsString } from 'class-validator';
import { IsOneOf, ValuesCheckedLater, IsOptionalText, IsWholeNumber } from '#platform/http';
import { ToBoolean } from '#platform/paging';
import { SOURCE_KINDS, type SourceKind } from './record.entity';
import { CELLS, type Cells, EXPORT_FORMATS, EXPORT_MEDIA, type ExportFormatName } from './transfer-formats';
import { ON_CONFLICT, type OnConflict, RECORD_FILTERS, RecordListQueryDto } from './record.dto';
import { ORDINAL_MAX } from '../../../resources';

/** Media types of imports. JSON Lines has several, none of them registered. */
export const IMPORT_MEDIA = [EXPORT_MEDIA.jsonl, 'application/x-ndjson', EXPORT_MEDIA.csv] as const;

export const EXPORTED_CELLS = ['auto', 'json'] as const;
export type ExportedCells = (typeof EXPORTED_CELLS)[number];

/** The records to export, and their format. */
export class RecordExportQueryDto extends PickType(RecordListQueryDto, RECORD_FILTERS) {
  @IsOptional()
  @IsOneOf(EXPORT_FORMATS, { required: false, default: 'jsonl' })
  format?: ExportFormatName;

  @IsOptional()
  @IsOneOf(EXPORTED_CELLS, {
    required: false,
    default: 'auto',
    description:
      'The cells of `input` and `expected` in CSV. `auto`: strings as text, null as an empty cell, and other values as JSON. `json`: all as JSON, so that an import with `cells=json` loses nothing.',
  })
  cells?: ExportedCells;

  /** Includes archived records. */
  @IsOptional()
  @IsBoolean()
  @ToBoolean()
  include_archived?: boolean;

  // Declared again, because PickType does not copy the declarations for the check of enumerated values.
  @IsOptional()
  @IsOneOf(SOURCE_KINDS, { required: false })
  override source_kind?: SourceKind;
}

const CONFLICT_DESCRIPTION =
  'How to handle a record whose `external_id` another record of the dataset already has, unless that ' +
  'record is archived: `error` returns 409 and imports nothing, `skip` leaves the existing record ' +
  'unchanged, and `update` gives it a new version with exactly the imported content.';

const CELLS_DESCRIPTION =
  'How CSV cells become values: `auto` reads a cell that begins with `{` or `[` and is valid JSON as ' +
  'JSON, and any other cell as text; `text` reads every cell as text; `json` requires a file in the form of ' +
  'an export with `cells=json`.';

/** Options of an import of JSON Lines or CSV. */
export class RecordImportQueryDto {
  /** The workspace that X-Service-Workspace-Id names. */
  @IsOptionalText()
  workspace_id?: string;

  @IsOptional()
  @IsOneOf(ON_CONFLICT, { required: false, default: 'error', description: CONFLICT_DESCRIPTION })
  on_conflict?: OnConflict;

  @IsOptional()
  @IsOneOf(CELLS, { required: false, default: 'auto', description: `${CELLS_DESCRIPTION} For CSV only.` })
  cells?: Cells;
}

/** Imports the rows of a CSV version of the dataset. */
@ValuesCheckedLater()
export class ImportVersionDto {
  /** The workspace that X-Service-Workspace-Id names. */
  @IsString()
  workspace_id!: string;

  /** The number of the version. */
  @IsWholeNumber({ minimum: 1, maximum: ORDINAL_MAX, format: 'int32' })
  dataset_version!: number;

  @IsOptional()
  @IsOneOf(ON_CONFLICT, { required: false, default: 'error', description: CONFLICT_DESCRIPTION })
  on_conflict?: OnConflict | null;

  @IsOptional()
  @IsOneOf(CELLS, { required: false, default: 'auto', description: CELLS_DESCRIPTION })
  cells?: Cells | null;
}

/** Numbers of imported records, by outcome. */
export class RecordImportDto {
  @ApiProperty({ type: 'integer', minimum: 0 })
  created_count!: number;
  /** Existing records that got a new version. */
  @ApiProperty({ type: 'integer', minimum: 0 })
  updated_count!: number;
  /** Existing records that already had the imported content. */
  @ApiProperty({ type: 'integer', minimum: 0 })
  unchanged_count!: number;
  /** Records that were skipped because another record that is not archived has their `external_id`. */
  @ApiProperty({ type: 'integer', minimum: 0 })
  skipped_count!: number;
}
