import { applyDecorators } from '@nestjs/common';
import { ApiProperty, OmitType } from '@nestjs/swagger';
import { IsBoolean, IsOptional, IsString, MaxLength, registerDecorator } from 'class-validator';
import { AnyJson, AnyJsonObject, Nested, ReadOnlyMembersOf, viewOf, IsNullableText } from '#platform/http';
import { ListQueryDto, PageOf, ToBoolean } from '#platform/paging';
import { type Becomes, BECOMES, COLUMNS_MAX } from './csv/csv.columns';
import { CSV_WARNINGS, type CsvWarning, PREVIEW_CASES } from './csv/csv.preview';
import type { DatasetVersionRow } from './dataset-version.repository';

const isColumns = (value: unknown): boolean =>
  typeof value === 'string' ||
  (Array.isArray(value) && value.length <= COLUMNS_MAX && value.every((one) => typeof one === 'string'));

/** Declares the columns of a part of a case: the name of one whose cell is the whole value, or a list of members. */
const IsColumns = () =>
  applyDecorators(
    IsOptional(),
    (target: object, property: string | symbol) =>
      registerDecorator({
        name: 'isColumns',
        target: target.constructor,
        propertyName: String(property),
        validator: {
          validate: isColumns,
          defaultMessage: () => `must be a column, or an array of at most ${COLUMNS_MAX} columns`,
        },
      }),
    ApiProperty({
      oneOf: [
        { type: 'string' },
        { type: 'array', items: { type: 'string' }, maxItems: COLUMNS_MAX },
        { type: 'null' },
      ],
      required: false,
    } as object),
  );

export const MAPPING_DESCRIPTION =
  'Maps columns to the parts of a case. Without a mapping, columns are recognized by their names.';

/**
 * Maps columns to the parts of a case. A list makes each column a member of an object. A name instead of a list makes the
 * cell itself the value.
 */
export class CsvMappingDto {
  /** Columns of `input`. Defaults to the columns that the mapping does not name, except those with a recognized name. */
  @IsColumns()
  input?: string | string[] | null;

  /** Columns of `expected`. Without any, `expected` is null. */
  @IsColumns()
  expected?: string | string[] | null;

  /**
   * Columns of `metadata`, to which columns are added that no part names. The cells of a column `metadata`, and of a column
   * that is named without a list, are JSON objects.
   */
  @IsColumns()
  metadata?: string | string[] | null;

  /** Columns of `tags`. A cell holds tags separated by commas or semicolons, or a JSON array of strings. */
  @IsColumns()
  tags?: string | string[] | null;
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
      'JSON: an object of `input`, `expected`, `metadata` and `tags`, each a column or an array of columns. Without a mapping, ' +
      'columns are recognized by their names.',
  })
  mapping?: string;
}

export class DatasetVersionUploadQueryDto extends CsvTextOptionsDto {
  /** Reads the whole file, stores nothing, and returns 200 with what the file would become. */
  @IsOptional()
  @IsBoolean()
  @ToBoolean()
  dry_run?: boolean;
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
   * Columns whose cells are complete values: text for `input` and `expected`, a JSON object for `metadata`. They were
   * recognized by their names, or mapped without a list.
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
  case_id!: string;
  /** The cell of the column as a string if it is in `value_columns`, else an object that maps columns to cells. */
  @AnyJson()
  input!: unknown;
  /** Like `input`, for the columns of `expected`. Null if there are none. */
  @AnyJson()
  expected!: unknown;
  /** Maps columns to cells, with the members of the JSON object in a column of `value_columns`. */
  @AnyJsonObject()
  metadata!: object;
  tags!: string[];
}

export class DatasetCasePageDto extends PageOf(DatasetCaseDto) {}

/** A column of a file. */
export class DatasetColumnDto {
  name!: string;
  @ApiProperty({ enum: [...BECOMES] })
  becomes!: Becomes;
}

/** Something about a file that probably differs from what you expect. */
export class DatasetWarningDto {
  /** Names the kind of the warning. */
  @ApiProperty({ enum: [...CSV_WARNINGS] })
  code!: CsvWarning['code'];
  /** Null if the warning is about the whole file. */
  column!: string | null;
  detail!: string;
}

/** What a file would become, without storing it. */
export class DatasetVersionPreviewDto {
  /** In the order of the file. */
  columns!: DatasetColumnDto[];
  @ApiProperty({
    type: () => [DatasetCaseDto],
    maxItems: PREVIEW_CASES,
    description: 'The first five cases, or fewer if they are large.',
  } as object)
  cases!: DatasetCaseDto[];
  @ApiProperty({ type: 'integer', format: 'int32', minimum: 0, maximum: 100_000 })
  row_count!: number;
  warnings!: DatasetWarningDto[];
}

const toMappingDto = viewOf(DatasetVersionMappingDto);

export const toDatasetVersionDto = viewOf(DatasetVersionDto, (row: DatasetVersionRow) => ({
  mapping: toMappingDto(row.mapping),
  value_columns: row.mapping.value_columns ?? [],
  column_count: row.columns.length,
  updated_at: row.created_at,
  archived_at: null,
}));

export const toDatasetCaseDto = viewOf(DatasetCaseDto);
