import { ApiProperty } from '@nestjs/swagger';
import { IsBoolean, IsInt, IsOptional, IsString, Length, Matches, Max, Min } from 'class-validator';
import { AnyJsonObject, IsJson, IsJsonObject, METADATA_MAX_BYTES } from '#platform/http';
import { ChangingListQueryDto, PageMetaDto, ToBoolean } from '#platform/paging';
import { TRACE_ID } from '../../telemetry';
import { TARGET_KINDS, type TargetKind } from './human-score.entity';

const ID_MAX = 255;
const VERSION_MAX = 2_147_483_647;

/** A person's score: of a trace, a session or a result, exactly one of them. */
export class CreateHumanScoreDto {
  /** The workspace that X-Service-Workspace-Id names. */
  @IsString()
  workspace_id!: string;

  /** A scorer of the kind `human`. */
  @IsString()
  @Length(1, ID_MAX)
  scorer_id!: string;

  /** The version that the person was shown; the present one unless given. */
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

  /** A result of any experiment, running or final. */
  @IsOptional()
  @IsString()
  @Length(1, ID_MAX)
  result_id?: string | null;

  /** Goes with `result_id`, whose experiment it must be then; may be left out. */
  @IsOptional()
  @IsString()
  @Length(1, ID_MAX)
  experiment_id?: string | null;

  /** The answer where the scorer's output is `choice`: the value of one of its choices. */
  @IsOptional()
  @IsString()
  choice?: string | null;

  @IsOptional()
  @IsJson({
    required: false,
    description:
      'The answer where the output is `boolean` (true or false) or `numeric` (a number within its bounds).',
  })
  value?: unknown;

  @IsOptional()
  @IsJsonObject({
    required: false,
    nullable: true,
    description:
      'The answer where the output is `questions`: of each question, by its key, a choice, true, false or a number.',
  })
  answers?: object | null;

  /** Why. Cut at 2,000 characters. */
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
  /** Scores by this scorer, of any of its versions. */
  @IsOptional()
  @IsString()
  scorer_id?: string;

  /** Scores of this trace, and of results that name it. */
  @IsOptional()
  @IsString()
  trace_id?: string;

  /** Scores of this session, and of results that name it. */
  @IsOptional()
  @IsString()
  session_id?: string;

  @IsOptional()
  @IsString()
  result_id?: string;

  /**
   * Scores of this experiment's results, and of the traces and sessions that they name: with the newest 1,000 that named
   * one when the score was made, and with each that was added since.
   */
  @IsOptional()
  @IsString()
  experiment_id?: string;

  /** Scores of this person. */
  @IsOptional()
  @IsString()
  created_by?: string;

  /** Also those that the same person has corrected since. */
  @IsOptional()
  @IsBoolean()
  @ToBoolean()
  include_superseded?: boolean;
}

/** What a person said of a trace, a session or a result. It never changes; a correction is another one. */
export class HumanScoreDto {
  score_id!: string;
  workspace_id!: string;
  scorer_id!: string;
  /** The version whose definition the answer was held against. */
  @ApiProperty({ type: 'integer', minimum: 1 })
  scorer_version!: number;
  /** What was scored. */
  @ApiProperty({ enum: [...TARGET_KINDS] })
  target_kind!: TargetKind;
  /** The trace that was scored, or that the scored result names. */
  trace_id!: string | null;
  session_id!: string | null;
  /** Of a scored result. */
  experiment_id!: string | null;
  result_id!: string | null;
  /** Of a choice its score, of a boolean 1 or 0, of a number itself, of questions the mean of their scores. */
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
  /** The one that corrects this one; null of a present score. */
  superseded_by_score_id!: string | null;
  created_at!: Date;
  /** When it was superseded, else when it was made. */
  updated_at!: Date;
  /** The person. */
  created_by!: string;
  /** Always null: scores are not archived. */
  @ApiProperty({ type: 'null' } as object)
  archived_at!: null;
}

export class HumanScorePageDto {
  items!: HumanScoreDto[];
  page!: PageMetaDto;
}
