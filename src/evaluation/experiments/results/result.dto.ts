import { ApiProperty } from '@nestjs/swagger';
import {
  ArrayMaxSize,
  ArrayMinSize,
  IsArray,
  IsInt,
  IsNumber,
  IsOptional,
  IsString,
  Length,
  Matches,
  Max,
  MaxLength,
  Min,
} from 'class-validator';
import {
  AnyJson,
  AnyJsonObject,
  IsJson,
  IsJsonObject,
  IsTags,
  ItemsOf,
  METADATA_MAX_BYTES,
  ReadOnlyMembersOf,
} from '#platform/http';
import { ChangingListQueryDto, PageMetaDto } from '#platform/paging';
import { ProblemDto } from '#platform/problem';
import { TRACE_ID } from '../../../telemetry';
import { BULK_MAX, pick } from '../../../resources';
import type { ResultEntity } from './result.entity';
import { IsScores } from './scores';

export const CASE_ID_MAX = 255;

/** The result of one case, to create alone or in bulk. */
@ReadOnlyMembersOf(() => ResultDto)
export class ResultFieldsDto {
  /** Unique within the experiment. If the experiment pins a CSV version, it must be one of its case ids (400). */
  @IsString()
  @Length(1, CASE_ID_MAX)
  case_id!: string;

  @IsOptional()
  @IsJson({ required: false, description: 'The input of the subject. Any JSON value, stored as sent.' })
  input?: unknown;

  @IsOptional()
  @IsJson({ required: false, description: 'The expected answer.' })
  expected?: unknown;

  @IsOptional()
  @IsJsonObject({
    maxBytes: METADATA_MAX_BYTES,
    nullable: true,
    description: 'Free-form, at most 16 KiB as JSON.',
  })
  metadata?: object | null;

  @IsOptional()
  @IsTags()
  tags?: string[] | null;

  /** Required if the experiment is backed by a dataset's records. 400 if it pins a CSV version. */
  @IsOptional()
  @IsString()
  dataset_record_id?: string | null;

  @IsOptional()
  @IsJson({ required: false, description: 'The answer of the subject.' })
  output?: unknown;

  @IsOptional()
  @IsJson({ required: false, description: 'Why there is no output.' })
  error?: unknown;

  @IsOptional()
  @IsScores()
  scores?: Record<string, unknown> | null;

  @ApiProperty({ type: 'string', pattern: TRACE_ID.source, nullable: true, required: false })
  @IsOptional()
  @IsString()
  @Matches(TRACE_ID, { message: 'must be 32 lower-case hexadecimal digits, not all zeros' })
  trace_id?: string | null;

  @IsOptional()
  @IsString()
  @MaxLength(255)
  session_id?: string | null;

  @IsOptional()
  @IsNumber()
  @Min(0)
  duration_ms?: number | null;

  /** Shared by repeated trials of one case. Each trial has a `case_id` of its own. */
  @IsOptional()
  @IsString()
  @Length(1, 255)
  trial_group?: string | null;

  @IsOptional()
  @ApiProperty({ type: 'integer', format: 'int32', minimum: 0, nullable: true, required: false })
  @IsInt()
  @Min(0)
  @Max(2_147_483_647)
  trial_index?: number | null;
}

export class CreateResultDto extends ResultFieldsDto {
  /** The workspace that X-Service-Workspace-Id names. */
  @IsString()
  workspace_id!: string;
}

export class BulkResultsDto {
  /** The workspace that X-Service-Workspace-Id names. */
  @IsString()
  workspace_id!: string;

  /** 1 to 100 results. Each is validated by itself, so one bad item does not affect the rest. */
  @ApiProperty({ type: [ResultFieldsDto], minItems: 1, maxItems: BULK_MAX })
  @ItemsOf(() => ResultFieldsDto, { isSeparate: true })
  @IsArray()
  @ArrayMinSize(1)
  @ArrayMaxSize(BULK_MAX)
  items!: unknown[];
}

export class ResultListQueryDto extends ChangingListQueryDto {
  @IsOptional()
  @IsString()
  @MaxLength(CASE_ID_MAX)
  case_id?: string;

  @IsOptional()
  @IsString()
  dataset_record_id?: string;

  @IsOptional()
  @IsString()
  @MaxLength(255)
  session_id?: string;
}

/** The parts of a score besides its number. */
export class ScoreDetailDto {
  @AnyJson({ required: false })
  metadata?: unknown;
  /** Cut at 2,000 characters. */
  comment?: string;
  label?: string;
  scorer_id?: string;
  @ApiProperty({ type: 'integer', minimum: 1, required: false })
  scorer_version?: number;
}

/** The result of one case of an experiment. */
export class ResultDto {
  result_id!: string;
  experiment_id!: string;
  workspace_id!: string;
  case_id!: string;
  @AnyJson()
  input!: unknown;
  @AnyJson()
  expected!: unknown;
  @AnyJsonObject()
  metadata!: object;
  tags!: string[];
  dataset_record_id!: string | null;
  /** The record's version in the experiment's snapshot. For a record that was added later, its first version. */
  @ApiProperty({ type: 'integer', minimum: 1, nullable: true })
  dataset_record_version!: number | null;
  @AnyJson()
  output!: unknown;
  @AnyJson()
  error!: unknown;
  /** Scorer name to number, or null for a scorer that gave no score. */
  @ApiProperty({ type: 'object', additionalProperties: { type: ['number', 'null'] } } as object)
  scores!: Record<string, number | null>;
  @ApiProperty({ type: 'object', additionalProperties: { $ref: '#/components/schemas/ScoreDetailDto' } })
  score_details!: object;
  trace_id!: string | null;
  session_id!: string | null;
  duration_ms!: number | null;
  trial_group!: string | null;
  @ApiProperty({ type: 'integer', minimum: 0, nullable: true })
  trial_index!: number | null;
  created_at!: Date;
  updated_at!: Date;
  created_by!: string;
  /** Always null: results cannot be archived. */
  @ApiProperty({ type: 'null' } as object)
  archived_at!: null;
}

export class ResultPageDto {
  items!: ResultDto[];
  page!: PageMetaDto;
}

/** The outcome of one item of a bulk create. */
export class BulkResultItemDto {
  @ApiProperty({ type: 'integer', minimum: 0 })
  index!: number;
  @ApiProperty({ type: 'integer', description: '201, or the status of the error.' })
  status_code!: number;
  result?: ResultDto;
  error?: ProblemDto;
}

export class BulkResultsAnswerDto {
  items!: BulkResultItemDto[];
}

const FIELDS = [
  'result_id',
  'experiment_id',
  'workspace_id',
  'case_id',
  'input',
  'expected',
  'metadata',
  'tags',
  'dataset_record_id',
  'dataset_record_version',
  'output',
  'error',
  'scores',
  'score_details',
  'trace_id',
  'session_id',
  'duration_ms',
  'trial_group',
  'trial_index',
  'created_at',
  'updated_at',
  'created_by',
] as const;

export const toResultDto = (row: ResultEntity): ResultDto => ({ ...pick(row, FIELDS), archived_at: null });
