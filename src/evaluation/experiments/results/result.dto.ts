import { ApiProperty, OmitType } from '@nestjs/swagger';
import { ArrayMaxSize, ArrayMinSize, IsArray, IsNumber, IsOptional, IsString, Min } from 'class-validator';
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
  ReadOnlyMembersOf,
  ValuesCheckedLater,
  IsNullableText,
  IsText,
  viewOf,
  IsWholeNumber,
} from '#platform/http';
import { PageOf } from '#platform/paging';
import type { ProblemDto } from '#platform/problem';
import { IsTraceId } from '../../../telemetry';
import { BULK_MAX } from '../../../resources';
import { IsScores } from '../../scores';
import type { Result, ResultRow } from './result.entity';

export const CASE_ID_MAX = 255;
const VERSION_MAX = 2_147_483_647;

export const ON_CONFLICT = ['error', 'skip', 'replace'] as const;
export type OnConflict = (typeof ON_CONFLICT)[number];
const CONFLICT_DESCRIPTION =
  'How to handle a `case_id` that the experiment already has a result for: `error` returns 409, `skip` ' +
  'returns the stored result unchanged, and `replace` replaces all its members. A replaced result keeps ' +
  'its `result_id`, its `version` is raised by one, and its earlier scores are superseded.';
const FROM_CASE =
  'If omitted, it is taken from the dataset record (in the version of the snapshot) or CSV case.';

/** The result of one case, to create alone or in bulk. */
@ReadOnlyMembersOf(() => ResultDto)
export class ResultFieldsDto {
  /**
   * Unique within the experiment. If the experiment pins a CSV version, it must be one of its case ids; with several `trials`,
   * the id of its case, `#` and the trial from 1 (400).
   */
  @IsText(CASE_ID_MAX)
  case_id!: string;

  @IsOptional()
  @IsJson({
    required: false,
    description: `The input of the evaluated system: any JSON value, including null, stored as sent. ${FROM_CASE}`,
  })
  input?: unknown;

  @IsOptional()
  @IsJson({
    required: false,
    description: `The expected answer: any JSON value, including null. ${FROM_CASE}`,
  })
  expected?: unknown;

  @IsOptional()
  @IsJsonObject({
    maxBytes: METADATA_MAX_BYTES,
    nullable: true,
    description: 'Free-form, at most 16 KiB as JSON.',
  })
  metadata?: object | null;

  /** If omitted, they are taken from the dataset record or CSV case. Null and `[]` mean none. */
  @IsOptional()
  @IsTags()
  tags?: string[] | null;

  /** Required if the experiment is backed by a dataset's records. 400 if it pins a CSV version. */
  @IsNullableText()
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

  @IsTraceId()
  trace_id?: string | null;

  @IsNullableText(255, 0)
  session_id?: string | null;

  @IsOptional()
  @IsNumber()
  @Min(0)
  duration_ms?: number | null;

  /**
   * Shared by repeated trials of one case, each of which has its own `case_id`; taken from `<case>#<n>` if an experiment with
   * several `trials` has no dataset. Returns 400 if the experiment pins a CSV version.
   */
  @IsNullableText(255)
  trial_group?: string | null;

  /** Number of the trial within its group. 400 if the experiment pins a CSV version. */
  @IsOptional()
  @IsWholeNumber({ minimum: 0, maximum: VERSION_MAX, format: 'int32', nullable: true, required: false })
  trial_index?: number | null;
}

@ValuesCheckedLater()
export class CreateResultDto extends ResultFieldsDto {
  /** The workspace that X-Service-Workspace-Id names. */
  @IsString()
  workspace_id!: string;

  @IsOptional()
  @IsOneOf(ON_CONFLICT, { required: false, default: 'error', description: CONFLICT_DESCRIPTION })
  on_conflict?: OnConflict | null;
}

@ValuesCheckedLater()
export class BulkResultsDto {
  /** The workspace that X-Service-Workspace-Id names. */
  @IsString()
  workspace_id!: string;

  @IsOptional()
  @IsOneOf(ON_CONFLICT, { required: false, default: 'error', description: CONFLICT_DESCRIPTION })
  on_conflict?: OnConflict | null;

  /** 1 to 100 results. Each is validated on its own, so one bad item does not affect the rest. */
  @ApiProperty({ type: [ResultFieldsDto], minItems: 1, maxItems: BULK_MAX })
  @KeepsJson({ isSeparate: true })
  @IsArray()
  @ArrayMinSize(1)
  @ArrayMaxSize(BULK_MAX)
  items!: unknown[];
}

/** A merge patch (RFC 7396) of a result of a running experiment. */
@ReadOnlyMembersOf(() => ResultDto)
export class PatchResultDto {
  /**
   * Scores to add, or to replace by name. Other scores stay. Null is a score without a number. Repeating the stored number
   * without details changes nothing.
   */
  @NotNull()
  @IsScores()
  scores?: Record<string, unknown>;

  /** Replaces all tags. Null removes them. */
  @IsOptional()
  @IsTags()
  tags?: string[] | null;

  @IsOptional()
  @IsJsonObject({ nullable: true, description: 'Merged into the current metadata. Null clears it.' })
  metadata?: object | null;

  /** The version of the result that the scores were computed for. 409 if the result has been replaced since. */
  @NotNull()
  @IsWholeNumber({ minimum: 1, maximum: VERSION_MAX, required: false })
  version?: number;

  @Fixed()
  result_id?: unknown;
  @Fixed()
  experiment_id?: unknown;
  @Fixed()
  workspace_id?: unknown;
  @Fixed()
  case_id?: unknown;
  @Fixed()
  input?: unknown;
  @Fixed()
  expected?: unknown;
  @Fixed()
  output?: unknown;
  @Fixed()
  error?: unknown;
  @Fixed()
  dataset_record_id?: unknown;
  @Fixed()
  trace_id?: unknown;
  @Fixed()
  session_id?: unknown;
  @Fixed()
  duration_ms?: unknown;
  @Fixed()
  trial_group?: unknown;
  @Fixed()
  trial_index?: unknown;
}

/** Members of a result that only a replacement changes. */
export const FIXED_MEMBERS = [
  'result_id', 'experiment_id', 'workspace_id', 'case_id', 'input', 'expected', 'output', 'error', 'dataset_record_id',
  'trace_id', 'session_id', 'duration_ms', 'trial_group', 'trial_index',
] as const satisfies (keyof PatchResultDto & keyof ResultRow)[]; // oxfmt-ignore

/** Declares a member that a PATCH may repeat, but not change. */
function Fixed(): PropertyDecorator {
  return (target, property) => {
    IsOptional()(target, property);
    IsJson({
      required: false,
      description:
        'Immutable (422 for another value). To change it, send the result again with `on_conflict`.',
    })(target, property);
  };
}

/** The parts of a score besides its number. */
export class ScoreDetailDto {
  @AnyJson({ required: false })
  metadata?: unknown;
  /** Truncated to 2,000 characters. */
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
  /**
   * The current score of each scorer name: a number, or null if the scorer gave none. Hosted scores take precedence over
   * yours, and yours over people's, also after the experiment was finalized.
   */
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
  /** Starts at 1. Raised when the result is replaced. */
  @ApiProperty({ type: 'integer', minimum: 1 })
  version!: number;
  /**
   * Whether its content was erased, together with the trace or the session that it named. Its case, duration and scores stay,
   * and an `error` is left as `{"erased": true}`.
   */
  erased!: boolean;
  created_at!: Date;
  updated_at!: Date;
  created_by!: string;
  /** Always null: results cannot be archived. */
  @ApiProperty({ type: 'null' } as object)
  archived_at!: null;
}

export class ResultPageDto extends PageOf(ResultDto) {}

/** A result in the response to a bulk create. */
export class BulkResultDto extends OmitType(ResultDto, ['input', 'expected']) {
  @AnyJson({ required: false, description: 'Present only if the item in the request has it.' })
  input?: unknown;
  @AnyJson({ required: false, description: 'Present only if the item in the request has it.' })
  expected?: unknown;
}

/** The outcome of one item of a bulk create. */
export class BulkResultItemDto {
  @ApiProperty({ type: 'integer', minimum: 0 })
  index!: number;
  @ApiProperty({
    type: 'integer',
    description:
      '201 for a new result, 200 if the item was skipped or replaced a stored result, or the status of the error.',
  })
  status_code!: number;
  result?: BulkResultDto;
  error?: ProblemDto;
}

export class BulkResultsResponseDto {
  items!: BulkResultItemDto[];
}

export const toResultDto = viewOf(ResultDto, (row: Result) => ({
  scores: row.scores as unknown as Record<string, number | null>,
  archived_at: null,
}));

/** Returns the view of a result, without `input` and `expected` if its item omitted them. */
export function toBulkResultDto(row: Result, item: ResultFieldsDto): BulkResultDto {
  const { input, expected, ...view } = toResultDto(row);
  return {
    ...(item.input !== undefined && { input }),
    ...(item.expected !== undefined && { expected }),
    ...view,
  };
}
