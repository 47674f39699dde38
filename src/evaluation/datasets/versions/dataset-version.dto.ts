import { applyDecorators } from '@nestjs/common';
import { ApiProperty, OmitType } from '@nestjs/swagger';
import { ArrayMaxSize, IsArray, IsOptional, IsString, MaxLength } from 'class-validator';
import { AnyJson, AnyJsonObject, Nested, ReadOnlyMembersOf, viewOf, IsNullableText } from '#platform/http';
import { ListQueryDto, PageOf } from '#platform/paging';
import { COLUMNS_MAX } from './csv/csv.columns';
import type { DatasetVersionRow } from './dataset-version.repository';

const IsColumns = () =>
  applyDecorators(
    IsOptional(),
    IsArray(),
    ArrayMaxSize(COLUMNS_MAX),
    IsString({ each: true }),
    ApiProperty({
      type: 'array',
      items: { type: 'string' },
      maxItems: COLUMNS_MAX,
      nullable: true,
      required: false,
    }),
  );

export const MAPPING_DESCRIPTION =
  'Maps columns to the parts of a case. Without a mapping, columns are recognized by their names.';

/** Maps columns to the parts of a case. */
export class CsvMappingDto {
  /** Columns of `input`. Defaults to the columns that the mapping does not name. */
  @IsColumns()
  input?: string[] | null;

  /** Columns of `expected`. Without any, `expected` is null. */
  @IsColumns()
  expected?: string[] | null;

  /** Columns of `metadata`. If the mapping names columns for `input`, the unnamed columns are added. */
  @IsColumns()
  metadata?: string[] | null;

  /** Columns of `tags`. A cell holds tags separated by commas or semicolons, or a JSON array of strings. */
  @IsColumns()
  tags?: string[] | null;
}

/** How the columns of a CSV file are read. */
export class CsvOptionsDto {
  /** The column of the case ids. Defaults to `case_id`, then `id`, then the row's number. */
  @IsNullableText()
  case_id_column?: string | null;

  @IsOptional()
  @Nested(() => CsvMappingDto)
  @ApiProperty({ description: MAPPING_DESCRIPTION })
  mapping?: CsvMappingDto | null;
}

/** The same options in the query of a `text/csv` upload, or as form fields. */
export class CsvTextOptionsDto {
  /** The workspace that X-Service-Workspace-Id names. */
  @IsNullableText()
  workspace_id?: string;

  /** The column of the case ids. Defaults to `case_id`, then `id`, then the row's number. */
  @IsNullableText()
  case_id_column?: string;

  @IsOptional()
  @IsString()
  @ApiProperty({
    description:
      'JSON: an object of `input`, `expected`, `metadata` and `tags`, each an array of columns. Without a mapping, ' +
      'columns are recognized by their names.',
  })
  mapping?: string;
}

/** A CSV file in a JSON body. */
@ReadOnlyMembersOf(() => DatasetVersionDto)
export class CreateDatasetVersionDto extends CsvOptionsDto {
  /** The workspace that X-Service-Workspace-Id names. */
  @IsString()
  workspace_id!: string;

  /** The content of the file. */
  @IsString()
  content!: string;
}

/** The columns of each part of a case, in order. */
export class DatasetVersionMappingDto {
  input!: string[];
  expected!: string[];
  metadata!: string[];
  tags!: string[];
}

/** A CSV file of a dataset. It never changes. */
export class DatasetVersionDto {
  dataset_id!: string;
  workspace_id!: string;
  @ApiProperty({ type: 'integer', format: 'int32', minimum: 1 })
  version!: number;
  version_id!: string;
  @ApiProperty({ type: 'integer', format: 'int32', minimum: 0, maximum: 100_000 })
  row_count!: number;
  @ApiProperty({ type: 'integer', format: 'int32', minimum: 1, maximum: COLUMNS_MAX })
  column_count!: number;
  /** In the order of the file. */
  columns!: string[];
  @ApiProperty({ type: 'integer', format: 'int32', minimum: 1 })
  size_bytes!: number;
  /** SHA-256 of the bytes, in hexadecimal. */
  sha256!: string;
  /** Null if row numbers are the case ids. */
  case_id_column!: string | null;
  mapping!: DatasetVersionMappingDto;
  /**
   * Columns that were recognized by their names and whose cells are complete values: text for `input` and `expected`, a
   * JSON object for `metadata`. Empty for a file with a mapping.
   */
  value_columns!: string[];
  created_at!: Date;
  updated_at!: Date;
  created_by!: string;
  /** Always null: versions cannot be archived. */
  @ApiProperty({ type: 'null' } as object)
  archived_at!: null;
}

export class DatasetVersionPageDto extends PageOf(DatasetVersionDto) {}

/** A page of the rows of a file, in row order. */
export class DatasetCaseListQueryDto extends OmitType(ListQueryDto, [
  'sort',
  'include_archived',
  'since',
  'until',
] as const) {}

/** A row, as a case. Cells are strings. */
export class DatasetCaseDto {
  @ApiProperty({ maxLength: 255 })
  @MaxLength(255)
  id!: string;
  /** The cell of the column `input` as a string if the version recognized it, else an object that maps columns to cells. */
  @AnyJson()
  input!: unknown;
  /** Like `input`, for the columns of `expected`. Null if there are none. */
  @AnyJson()
  expected!: unknown;
  /** Maps columns to cells, with the members of the column `metadata` if the version recognized it. */
  @AnyJsonObject()
  metadata!: object;
  tags!: string[];
}

export class DatasetCasePageDto extends PageOf(DatasetCaseDto) {}

const toMappingDto = viewOf(DatasetVersionMappingDto);

export const toDatasetVersionDto = viewOf(DatasetVersionDto, (row: DatasetVersionRow) => ({
  mapping: toMappingDto(row.mapping),
  value_columns: row.mapping.value_columns ?? [],
  column_count: row.columns.length,
  updated_at: row.created_at,
  archived_at: null,
}));

export const toDatasetCaseDto = viewOf(DatasetCaseDto);
