import { ApiProperty, OmitType } from '@nestjs/swagger';
import { ArrayMaxSize, IsArray, IsOptional, IsString, MaxLength } from 'class-validator';
import { AnyJsonObject, ClosedBody, Nested } from '#platform/http';
import { ListQueryDto, PageMetaDto } from '#platform/paging';
import { COLUMNS_MAX } from './csv/csv.columns';

const COLUMNS = {
  type: 'array',
  items: { type: 'string' },
  maxItems: COLUMNS_MAX,
  nullable: true,
  required: false,
} as const;

/** What is said of `mapping` wherever it can be given. */
export const MAPPING_MEANING =
  'What columns become in a case. Those that it does not name are part of `input`, after those that it names for ' +
  'that, also where it names only some: of the columns `question`, `context` and `answer`, ' +
  '`{"input": ["question"], "expected": ["answer"]}` leaves `context` in `input`, too; to keep it out, name it in ' +
  '`metadata`. Without a mapping all columns are part of `input`, whatever they are called, also where that is ' +
  '`input`, `expected`, `metadata` or `tags`. The column of the case ids is in no part, unless it is named.';

/** What columns become in a case, see `MAPPING_MEANING`. */
@ClosedBody()
export class CsvMappingDto {
  /** Those that come first in `input`. All columns that are named nowhere follow. */
  @IsOptional()
  @IsArray()
  @ArrayMaxSize(COLUMNS_MAX)
  @IsString({ each: true })
  @ApiProperty(COLUMNS)
  input?: string[] | null;

  /** `expected` is null where none is named. */
  @IsOptional()
  @IsArray()
  @ArrayMaxSize(COLUMNS_MAX)
  @IsString({ each: true })
  @ApiProperty(COLUMNS)
  expected?: string[] | null;

  /** The place for columns that are to be in no other. */
  @IsOptional()
  @IsArray()
  @ArrayMaxSize(COLUMNS_MAX)
  @IsString({ each: true })
  @ApiProperty(COLUMNS)
  metadata?: string[] | null;

  /** Their cells hold tags between commas or semicolons, or as a JSON array of texts. */
  @IsOptional()
  @IsArray()
  @ArrayMaxSize(COLUMNS_MAX)
  @IsString({ each: true })
  @ApiProperty(COLUMNS)
  tags?: string[] | null;
}

/** How the columns of a CSV file are read. */
export class CsvOptionsDto {
  /** The column with the ids of the cases; else `case_id`, else `id`, else the row's number is the id. */
  @IsOptional()
  @IsString()
  case_id_column?: string | null;

  @IsOptional()
  @Nested(() => CsvMappingDto)
  @ApiProperty({ description: MAPPING_MEANING })
  mapping?: CsvMappingDto | null;
}

/** The same options of an upload as `text/csv`, in the query, or as a form. */
export class CsvTextOptionsDto {
  /** The workspace that X-Service-Workspace-Id names. */
  @IsOptional()
  @IsString()
  workspace_id?: string;

  /** The column with the ids of the cases; else `case_id`, else `id`, else the row's number is the id. */
  @IsOptional()
  @IsString()
  case_id_column?: string;

  @IsOptional()
  @IsString()
  @ApiProperty({
    description: `JSON: an object of \`input\`, \`expected\`, \`metadata\` and \`tags\`, each an array of columns. ${MAPPING_MEANING}`,
  })
  mapping?: string;
}

/** A CSV file as a member of JSON. */
export class CreateDatasetVersionDto extends CsvOptionsDto {
  /** The workspace that X-Service-Workspace-Id names. */
  @IsString()
  workspace_id!: string;

  /** The file. */
  @IsString()
  content!: string;
}

/** How a file's columns are read: all of them, each in one place. */
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
  /** Of the bytes, in hexadecimal. */
  sha256!: string;
  /** Null where cases are called by the number of their row. */
  case_id_column!: string | null;
  mapping!: DatasetVersionMappingDto;
  created_at!: Date;
  updated_at!: Date;
  created_by!: string;
  /** Always null: versions are not archived by themselves. */
  @ApiProperty({ type: 'null' } as object)
  archived_at!: null;
}

export class DatasetVersionPageDto {
  items!: DatasetVersionDto[];
  page!: PageMetaDto;
}

/** A page of the rows of a file, in their order. */
export class DatasetCaseListQueryDto extends OmitType(ListQueryDto, ['sort', 'include_archived'] as const) {}

/** A row, as a case. Cells are texts. */
export class DatasetCaseDto {
  @ApiProperty({ maxLength: 255 })
  @MaxLength(255)
  id!: string;
  /** Column to cell. */
  @AnyJsonObject()
  input!: object;
  /** Column to cell; null where no column is mapped to it. */
  @AnyJsonObject({ nullable: true })
  expected!: object | null;
  /** Column to cell. */
  @AnyJsonObject()
  metadata!: object;
  tags!: string[];
}

export class DatasetCasePageDto {
  items!: DatasetCaseDto[];
  page!: PageMetaDto;
}
