import { ApiProperty } from '@nestjs/swagger';
import { IsBoolean, IsInt, IsOptional, IsString, Length, Matches, Max, Min } from 'class-validator';
import { AnyJsonObject, IsJson, IsJsonObject, METADATA_MAX_BYTES, ReadOnlyMembersOf } from '#platform/http';
import { ChangingListQueryDto, PageMetaDto, ToBoolean } from '#platform/paging';
import { pick } from '../../resources';
import { TRACE_ID } from '../../telemetry';
import { type HumanScoreRow, TARGET_KINDS, type TargetKind } from './human-score.entity';

const ID_MAX = 255;
const VERSION_MAX = 2_147_483_647;

/** A human score of one trace, session or result. Name exactly one of them. */
@ReadOnlyMembersOf(() => HumanScoreDto)
export class CreateHumanScoreDto {
  /** The workspace that X-Service-Workspace-Id names. */
  @IsString()
  workspace_id!: string;

  /** A scorer of kind `human`. */
  @IsString()
  @Length(1, ID_MAX)
  scorer_id!: string;

  /** The version that the person was shown. Defaults to the current one. */
  @ApiProperty({ type: 'integer', minimum: 1, maximum: VERSION_MAX, nullable: true, required: false })
  @IsOptional()
  @IsInt()
  @Min(1)
  @Max(VERSION_MAX)
  scorer_version?: number | null;

  @ApiProperty({ type: 'string', pattern: TRACE_ID.source, nullable: true, required: false })
  @IsOptional()
  @IsString()
  @Matches(TRACE_ID, { message: 'must be 32 lower-case hexadecimal digits, not all zeros' })
  trace_id?: string | null;

  @IsOptional()
  @IsString()
  @Length(1, ID_MAX)
  session_id?: string | null;

  /** A result of any experiment, running or finalized. */
  @IsOptional()
  @IsString()
  @Length(1, ID_MAX)
  result_id?: string | null;

  /** Allowed only with `result_id`. Must be the experiment of that result. */
  @IsOptional()
  @IsString()
  @Length(1, ID_MAX)
  experiment_id?: string | null;

  /** The answer to an output of type `choice`: the value of one of its choices. */
  @IsOptional()
  @IsString()
  choice?: string | null;

  @IsOptional()
  @IsJson({
    isRead: true,
    required: false,
    description:
      'The answer to an output of type `boolean` (true or false) or `numeric` (a number within its bounds).',
  })
  value?: unknown;

  @IsOptional()
  @IsJsonObject({
    isRead: true,
    required: false,
    nullable: true,
    description:
      'The answers to an output of type `questions`: a choice, true, false or a number for each key.',
  })
  answers?: object | null;

  /** The reason. Cut after 2,000 characters. */
  @IsOptional()
  @IsString()
  comment?: string | null;

  @IsOptional()
  @IsJsonObject({
    maxBytes: METADATA_MAX_BYTES,
    nullable: true,
    required: false,
    description: 'Free-form, at most 16 KiB as JSON.',
  })
  metadata?: object | null;
}

export class HumanScoreListQueryDto extends ChangingListQueryDto {
  /** Scores by any version of this scorer. */
  @IsOptional()
  @IsString()
  scorer_id?: string;

  /** Scores of this trace and of results that reference it. */
  @IsOptional()
  @IsString()
  trace_id?: string;

  /** Scores of this session and of results that reference it. */
  @IsOptional()
  @IsString()
  session_id?: string;

  @IsOptional()
  @IsString()
  result_id?: string;

  /**
   * Scores of this experiment's results, and of the traces and sessions that its results reference. A score covers the
   * newest 1,000 results that referenced its target when it was made, and every result added since.
   */
  @IsOptional()
  @IsString()
  experiment_id?: string;

  /** Scores of this person. */
  @IsOptional()
  @IsString()
  created_by?: string;

  /** Includes scores that the same person has corrected since. */
  @IsOptional()
  @IsBoolean()
  @ToBoolean()
  include_superseded?: boolean;
}

/** A human score of a trace, session or result. It never changes. A correction is a new score. */
export class HumanScoreDto {
  score_id!: string;
  workspace_id!: string;
  scorer_id!: string;
  /** The version whose definition validated the answer. */
  @ApiProperty({ type: 'integer', minimum: 1 })
  scorer_version!: number;
  /** The scored target. */
  @ApiProperty({ enum: [...TARGET_KINDS] })
  target_kind!: TargetKind;
  /** The scored trace, or the trace that the scored result references. */
  trace_id!: string | null;
  session_id!: string | null;
  /** The experiment of the scored result. */
  experiment_id!: string | null;
  result_id!: string | null;
  /** The score of the choice, 1 or 0 for a boolean, the number itself, or the mean over the questions. */
  score!: number;
  choice!: string | null;
  @ApiProperty({ oneOf: [{ type: 'boolean' }, { type: 'number' }, { type: 'null' }] } as object)
  value!: unknown;
  @AnyJsonObject({ nullable: true })
  answers!: object | null;
  comment!: string | null;
  @AnyJsonObject()
  metadata!: object;
  /** The same person's earlier score that this one corrects. */
  supersedes_score_id!: string | null;
  /** The score that corrects this one. Null for a current score. */
  superseded_by_score_id!: string | null;
  created_at!: Date;
  /** When it was superseded, else when it was created. */
  updated_at!: Date;
  /** The person. */
  created_by!: string;
  /** Always null: scores cannot be archived. */
  @ApiProperty({ type: 'null' } as object)
  archived_at!: null;
}

export class HumanScorePageDto {
  items!: HumanScoreDto[];
  page!: PageMetaDto;
}

const FIELDS = [
  'score_id',
  'workspace_id',
  'scorer_id',
  'scorer_version',
  'target_kind',
  'trace_id',
  'session_id',
  'experiment_id',
  'result_id',
  'score',
  'choice',
  'value',
  'answers',
  'comment',
  'metadata',
  'supersedes_score_id',
  'superseded_by_score_id',
  'created_at',
  'updated_at',
  'created_by',
] as const;

export const toHumanScoreDto = (row: HumanScoreRow): HumanScoreDto => ({
  ...pick(row, FIELDS),
  archived_at: null,
});
