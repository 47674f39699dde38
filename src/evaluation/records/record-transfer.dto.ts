import { IsBoolean, IsOptional, IsString, MaxLength } from 'class-validator';
import { IsOneOf } from '#platform/http';
import { ToBoolean } from '#platform/paging';
import { SOURCE_KINDS, type SourceKind } from './record.entity';

export const EXPORT_FORMATS = ['jsonl', 'csv'] as const;
export type ExportFormat = (typeof EXPORT_FORMATS)[number];

/** Media types of records on their way in and out, one for each format. */
export const EXPORT_MEDIA = { jsonl: 'application/jsonl', csv: 'text/csv' } as const;

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
