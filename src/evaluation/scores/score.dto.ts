import { applyDecorators } from '@nestjs/common';
import { ApiProperty, IntersectionType } from '@nestjs/swagger';
import {
  ArrayMaxSize,
  ArrayMinSize,
  IsArray,
  IsBoolean,
  IsNumber,
  IsOptional,
  IsString,
  registerDecorator,
} from 'class-validator';
import {
  AnyJsonObject,
  instantOf,
  IsJsonObject,
  IsOneOf,
  KeepsJson,
  METADATA_MAX_BYTES,
  NotBelow,
  NotNull,
  ReadOnlyMembersOf,
  ValuesCheckedLater,
  IsNullableText,
  IsOptionalText,
  IsOptionalTime,
  viewOf,
  IsWholeNumber,
} from '#platform/http';
import { isJsonObject, parseJson } from '#platform/json';
import type { ProblemDto } from '#platform/problem';
import { PageQueryDto, SortedBy, ToBoolean, ToInteger, ToNumber, PageOf } from '#platform/paging';
import { SCORE_SOURCES, type ScoreSource, IsTraceId } from '../../telemetry';
import { SCORER_KINDS, type ScorerKind } from '../scorers';
import { BULK_MAX } from '../../resources';
import { type ScoreRow, TARGET_KINDS, type TargetKind } from './score.entity';

const ID_MAX = 255;
const COMMENT_FILTER_MAX = 500;
const VERSION_MAX = 2_147_483_647;

/** Sources of the scores that callers can record. */
export const RECORDABLE_SOURCES = ['client', 'human', 'end_user'] as const;

const IsVersion = (): PropertyDecorator =>
  applyDecorators(
    IsOptional(),
    IsWholeNumber({ minimum: 1, maximum: VERSION_MAX, nullable: true, required: false }),
  );

const IsScore = (): PropertyDecorator => (target, property) =>
  registerDecorator({
    name: 'isScore',
    target: target.constructor,
    propertyName: String(property),
    validator: {
      validate: (value: unknown) => typeof value === 'number' || typeof value === 'boolean',
      defaultMessage: () => 'must be a number, true, false or null',
    },
  });

/** A score to record, without the workspace. */
@ValuesCheckedLater()
@ReadOnlyMembersOf(() => ScoreDto)
export class ScoreFieldsDto {
  /** A scorer of any kind. */
  @IsNullableText(ID_MAX)
  scorer_id?: string | null;

  /** The name of a scorer, or any other name. The score's `scorer_id` is null if no scorer has this name. */
  @IsNullableText(ID_MAX)
  scorer_name?: string | null;

  /**
   * The version that gave the score, or that the person answered. Defaults to the current version for a human scorer, else
   * to none.
   */
  @IsVersion()
  scorer_version?: number | null;

  /** A trace, which may arrive later. The score is deleted if it does not arrive within 7 days. */
  @IsTraceId()
  trace_id?: string | null;

  @IsNullableText(ID_MAX)
  session_id?: string | null;

  /** A result of any experiment, running or finalized. */
  @IsNullableText(ID_MAX)
  result_id?: string | null;

  /**
   * The version of the result that you scored; allowed only with `result_id`. Returns 409 if the result was replaced since.
   */
  @IsVersion()
  result_version?: number | null;

  /** Allowed only with `result_id`. Must be the experiment of that result. */
  @IsNullableText(ID_MAX)
  experiment_id?: string | null;

  @ApiProperty({
    oneOf: [{ type: 'number' }, { type: 'boolean' }, { type: 'null' }],
    required: false,
    description:
      'A number, or true or false for 1 or 0; null records that the scorer deliberately gave no score. The ' +
      'score follows from `label` for an output of type `choice`, and from `answers` for `questions`.',
  } as object)
  @IsOptional()
  @IsScore()
  score?: number | boolean | null;

  /** One of the choices for an output of type `choice`, else any label. */
  @IsNullableText(ID_MAX)
  label?: string | null;

  @IsOptional()
  @IsJsonObject({
    isRead: true,
    maxBytes: METADATA_MAX_BYTES,
    required: false,
    nullable: true,
    description:
      'The answers to an output of type `questions`: a choice, true, false or a number for each key. At most 16 KiB as JSON.',
  })
  answers?: object | null;

  /** The reason for the score. Truncated to 2,000 characters. */
  @IsNullableText()
  comment?: string | null;

  @IsOptional()
  @IsJsonObject({
    maxBytes: METADATA_MAX_BYTES,
    nullable: true,
    required: false,
    description: 'Free-form, at most 16 KiB as JSON.',
  })
  metadata?: object | null;

  /** Distinguishes the people or systems behind one account. For example, the id of an application's user. */
  @IsNullableText(ID_MAX)
  author?: string | null;

  /**
   * `end_user` is feedback from an application's users, which comparisons, gates and agreement ignore. Defaults to `human`
   * for a human scorer, else to `client`; callers with only the role `runtime` always record `end_user`.
   */
  @IsOptional()
  @IsOneOf(RECORDABLE_SOURCES, { required: false, nullable: true })
  source?: (typeof RECORDABLE_SOURCES)[number] | null;
}

/** A score of a trace, session or result. Must have exactly one target, and either `scorer_id` or `scorer_name`. */
@ValuesCheckedLater()
@ReadOnlyMembersOf(() => ScoreDto)
export class CreateScoreDto extends ScoreFieldsDto {
  /** The workspace that X-Service-Workspace-Id names. */
  @IsString()
  workspace_id!: string;
}

/** A score of a bulk create: the body of `POST /eval/v1/scores`. */
@ValuesCheckedLater()
@ReadOnlyMembersOf(() => ScoreDto)
export class BulkScoreDto extends ScoreFieldsDto {
  /** The workspace that X-Service-Workspace-Id names. */
  @IsOptionalText()
  workspace_id?: string;
}

export class BulkScoresDto {
  /** The workspace that X-Service-Workspace-Id names. */
  @IsOptionalText()
  workspace_id?: string;

  /** 1 to 100 scores. Each is validated on its own, so one bad item does not affect the rest. */
  @ApiProperty({ type: [BulkScoreDto], minItems: 1, maxItems: BULK_MAX })
  @KeepsJson({ isSeparate: true })
  @IsArray()
  @ArrayMinSize(1)
  @ArrayMaxSize(BULK_MAX)
  items!: unknown[];
}

const IsBound = (description: string): PropertyDecorator =>
  applyDecorators(
    ApiProperty({ type: 'number', required: false, description }),
    NotNull(),
    IsNumber(),
    ToNumber(),
  );

/** Declares the text of a JSON object. */
const IsObjectText = (): PropertyDecorator => (target, property) => {
  IsOptionalText(METADATA_MAX_BYTES)(target, property);
  registerDecorator({
    name: 'isObjectText',
    target: target.constructor,
    propertyName: String(property),
    validator: {
      validate: isObjectText,
      defaultMessage: () => 'must be the text of a JSON object',
    },
  });
};

function isObjectText(value: unknown): boolean {
  try {
    return typeof value === 'string' && isJsonObject(parseJson(Buffer.from(value)));
  } catch {
    return false;
  }
}

const scoreOf = (value: unknown): number | null => (typeof value === 'number' ? value : null);

/** Filters of scores. A score must meet all of them. */
export class ScoreFiltersDto {
  /** Scores by any version of this scorer. */
  @IsOptionalText()
  scorer_id?: string;

  /** Scores under this name, whether or not a scorer has it. */
  @IsOptionalText(ID_MAX)
  scorer_name?: string;

  @NotNull()
  @IsWholeNumber({ minimum: 1, maximum: VERSION_MAX, format: 'int32', required: false })
  @ToInteger()
  scorer_version?: number;

  @NotNull()
  @IsOneOf(SCORER_KINDS, { required: false })
  scorer_kind?: ScorerKind;

  @NotNull()
  @IsOneOf(SCORE_SOURCES, { required: false })
  source?: ScoreSource;

  /** `trace` excludes scores of results that reference a trace. */
  @NotNull()
  @IsOneOf(TARGET_KINDS, { required: false })
  target_kind?: TargetKind;

  /** Scores of this trace and of results that reference it. */
  @IsOptionalText()
  trace_id?: string;

  /** Scores of this session, of its traces, and of results that reference it. */
  @IsOptionalText()
  session_id?: string;

  @IsOptionalText()
  result_id?: string;

  /** Scores of this experiment's results. */
  @IsOptionalText()
  experiment_id?: string;

  @IsOptionalText(ID_MAX)
  case_id?: string;

  @IsOptionalText(ID_MAX)
  label?: string;

  /** Scores of this version of a result. */
  @NotNull()
  @IsWholeNumber({ minimum: 1, maximum: VERSION_MAX, format: 'int32', required: false })
  @ToInteger()
  result_version?: number;

  @IsOptionalText()
  span_id?: string;

  /** Scores by judges of this model, as the provider answered it. */
  @IsOptionalText(ID_MAX)
  model?: string;

  @IsOptionalText()
  judge_digest?: string;

  /** Scores by a hosted scorer that saw only a part of a transcript, or the others. */
  @NotNull()
  @IsBoolean()
  @ToBoolean()
  is_truncated?: boolean;

  @IsOptionalText(ID_MAX)
  author?: string;

  @IsOptionalText()
  score_run_id?: string;

  /** Scores that this principal recorded, or whose run this principal started. */
  @IsOptionalText()
  created_by?: string;

  @IsBound('Scores of at least this number.')
  min_score?: number;

  @IsBound('Scores of at most this number.')
  @NotBelow('min_score', scoreOf)
  max_score?: number;

  /** Scores recorded at this time or later (RFC 3339). */
  @IsOptionalTime()
  since?: string;

  /** Scores recorded before this time (RFC 3339). */
  @IsOptionalTime()
  @NotBelow('since', instantOf)
  until?: string;
}

/** Query parameters of the list of scores. */
@SortedBy('created_at', 'score')
export class ScoreListQueryDto extends IntersectionType(PageQueryDto, ScoreFiltersDto) {
  // Declared again, because IntersectionType does not copy the metadata for the check of values.
  @NotNull()
  @IsOneOf(SCORER_KINDS, { required: false })
  declare scorer_kind?: ScorerKind;

  @NotNull()
  @IsOneOf(SCORE_SOURCES, { required: false })
  declare source?: ScoreSource;

  @NotNull()
  @IsOneOf(TARGET_KINDS, { required: false })
  declare target_kind?: TargetKind;

  /** Sorting by `score` omits superseded scores and nulls. Different scorers may have different scales. */
  declare sort?: string;

  /** Scores whose comment contains this text, in upper or lower case. */
  @IsOptionalText(COMMENT_FILTER_MAX)
  comment?: string;

  /** Scores whose answers contain this JSON object, such as `{"tone": "kind"}`. */
  @IsObjectText()
  answers?: string;

  /** Scores whose metadata contains this JSON object, such as `{"build": {"branch": "main"}}`. */
  @IsObjectText()
  metadata?: string;

  /** The score that supersedes this one. */
  @IsOptionalText()
  supersedes_score_id?: string;

  /** The scores that this one supersedes. Requires `include_superseded`. */
  @IsOptionalText()
  superseded_by_score_id?: string;

  /** Includes superseded scores. */
  @NotNull()
  @IsBoolean()
  @ToBoolean()
  include_superseded?: boolean;
}

/** A score of a trace, session or result. It never changes. A correction is a new score. */
export class ScoreDto {
  score_id!: string;
  workspace_id!: string;
  /** Null if no scorer has the name. */
  scorer_id!: string | null;
  /** The scorer's name when the score was given. */
  scorer_name!: string;
  /** Null if the score names no scorer, or its version is unknown. */
  @ApiProperty({ type: 'integer', minimum: 1, nullable: true })
  scorer_version!: number | null;
  @ApiProperty({ enum: [...SCORER_KINDS, null], nullable: true, type: 'string' })
  scorer_kind!: ScorerKind | null;
  /**
   * Who gave the score: `client` (computed by a client, and uploaded with a result or alone), `hosted` (a run of the
   * service), `human` (a person, with a human scorer) or `end_user` (feedback from an application's user).
   */
  @ApiProperty({ enum: [...SCORE_SOURCES] })
  source!: ScoreSource;
  /** The scored target. */
  @ApiProperty({ enum: [...TARGET_KINDS] })
  target_kind!: TargetKind;
  /** The scored trace, or the trace that the scored result references. */
  trace_id!: string | null;
  /** The scored session, or the session of the scored trace or result. */
  session_id!: string | null;
  /** The scored result. */
  result_id!: string | null;
  /** The experiment of the scored result. */
  experiment_id!: string | null;
  case_id!: string | null;
  /** The span of an evaluation event that arrived by OTLP. */
  span_id!: string | null;
  /** Null if the scorer gave no score. */
  score!: number | null;
  label!: string | null;
  @AnyJsonObject({ nullable: true })
  answers!: object | null;
  comment!: string | null;
  @AnyJsonObject()
  metadata!: object;
  author!: string | null;
  /** The run that gave the score. */
  score_run_id!: string | null;
  /** For a score by a judge: its model, as the provider answered it. */
  model!: string | null;
  /**
   * For a score by a judge: SHA-256 over its definition, backend, provider and model, in hexadecimal. Scores with different
   * digests were given by different judges.
   */
  judge_digest!: string | null;
  /** Whether a hosted scorer saw only a part of a transcript, because the trace or session was too large. */
  is_truncated!: boolean;
  /** The earlier score that this one supersedes. */
  supersedes_score_id!: string | null;
  /** The score that supersedes this one. */
  superseded_by_score_id!: string | null;
  /**
   * When it was superseded, or the scored result was replaced; null if neither has happened. A hosted score also supersedes the
   * client's scores of its name and result.
   */
  superseded_at!: Date | null;
  created_at!: Date;
  /** When it was superseded, else when it was created. */
  updated_at!: Date;
  created_by!: string;
  /** Always null: scores cannot be archived. */
  @ApiProperty({ type: 'null' } as object)
  archived_at!: null;
}

export class ScorePageDto extends PageOf(ScoreDto) {}

/** The outcome of one item of a bulk create. */
export class BulkScoreItemDto {
  @ApiProperty({ type: 'integer', minimum: 0 })
  index!: number;
  @ApiProperty({ type: 'integer', description: '201 for a recorded score, or the status of the error.' })
  status_code!: number;
  score?: ScoreDto;
  error?: ProblemDto;
}

export class BulkScoresResponseDto {
  items!: BulkScoreItemDto[];
}

export const toScoreDto = viewOf(ScoreDto, (row: ScoreRow) => ({
  updated_at: row.superseded_at ?? row.created_at,
  archived_at: null,
}));
