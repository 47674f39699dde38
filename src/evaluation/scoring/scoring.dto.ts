import { ApiProperty } from '@nestjs/swagger';
import {
  ArrayMaxSize,
  IsArray,
  IsBoolean,
  IsInt,
  IsNumber,
  IsOptional,
  IsPositive,
  IsString,
  Matches,
  Min,
} from 'class-validator';
import { AnyJson, AnyJsonObject, ClosedBody, IsOneOf, ValuesCheckedLater, IsTime } from '#platform/http';
import { TRACE_ID } from '../../telemetry';
import { type Grain, GRAINS } from '../scorers/scorer.entity';
import { RUN_STATUSES, type RunStatus, SCORE_MODES, type ScoreMode } from './score-run.entity';

/** Ids that one request may name. */
const IDS_MAX = 10_000;

/** What is to be scored, and how. Selectors narrow each other; at least one is needed. */
@ClosedBody()
@ValuesCheckedLater()
export class ScoreDto {
  /**
   * `score` queues a run. `test` scores up to 5 targets at once and answers what came of them, `preview` only what
   * would be run; neither keeps anything.
   */
  @IsOptional()
  @IsOneOf(SCORE_MODES, { required: false, default: 'score' })
  mode?: ScoreMode | null;

  /** What one score is about. Without it, what the ids are; without ids, the scorer's. */
  @IsOptional()
  @IsOneOf(GRAINS, { required: false })
  grain?: Grain | null;

  /** The sessions of these agents. */
  @IsOptional()
  @IsArray()
  @ArrayMaxSize(IDS_MAX)
  @IsString({ each: true })
  agent_ids?: string[] | null;

  /** Targets scored at a time: at most 32, and 4 where it is 0 or absent. A worker may allow fewer. */
  @ApiProperty({ type: 'integer', minimum: 0, required: false, nullable: true, default: 4 })
  @IsOptional()
  @IsInt()
  @Min(0)
  concurrency?: number | null;

  /** The traces or sessions of this experiment's results. While it runs, scores also land in them. */
  @IsOptional()
  @IsString()
  experiment_id?: string | null;

  /** Take the newest, up to this many: at most 100, in `preview` and `test` 5. Without it, more than that is 422. */
  @ApiProperty({ type: 'integer', minimum: 0, required: false, nullable: true })
  @IsOptional()
  @IsInt()
  @Min(0)
  limit?: number | null;

  @IsOptional()
  @IsArray()
  @ArrayMaxSize(IDS_MAX)
  @IsString({ each: true })
  session_ids?: string[] | null;

  @ApiProperty({
    type: 'array',
    items: { type: 'string', pattern: TRACE_ID.source },
    maxItems: IDS_MAX,
    nullable: true,
    required: false,
  })
  @IsOptional()
  @IsArray()
  @ArrayMaxSize(IDS_MAX)
  @IsString({ each: true })
  @Matches(TRACE_ID, { each: true, message: 'must be 32 lower-case hexadecimal digits, not all zeros' })
  trace_ids?: string[] | null;

  /** Those that started at this time or later (RFC 3339). */
  @IsOptional()
  @IsTime({ required: false, nullable: true })
  since?: string | null;

  /** Those that started before this time (RFC 3339). */
  @IsOptional()
  @IsTime({ required: false, nullable: true })
  until?: string | null;

  /**
   * Stops the run once its judge has cost so much, in US dollars: `failure_code` is `budget_exceeded` then, and what was
   * not scored ends with an error. Requests that are under way at that moment are finished, so that it may cost as much more
   * as `concurrency` of them do.
   */
  @ApiProperty({
    type: 'number',
    minimum: 0,
    exclusiveMinimum: 0,
    required: false,
    nullable: true,
  } as object)
  @IsOptional()
  @IsNumber({ allowNaN: false, allowInfinity: false })
  @IsPositive()
  max_cost_usd?: number | null;

  /** Whether a judge that was asked the very same by this version of the scorer is not asked again. */
  @ApiProperty({ type: 'boolean', required: false, nullable: true, default: true })
  @IsOptional()
  @IsBoolean()
  cache?: boolean | null;

  /** Leaves out what this version of the scorer has scored or is about to score. */
  @IsOptional()
  @IsBoolean()
  unscored_only?: boolean | null;
}

/** How far the samples of one target were apart. */
export class SampleSpreadDto {
  /** How often the judge was asked. */
  @ApiProperty({ type: 'integer', minimum: 1 })
  count!: number;
  /** How often in vain. */
  @ApiProperty({ type: 'integer', minimum: 0 })
  failed_count!: number;
  /** The score of each sample that was answered, in order. */
  scores!: number[];
  /** The standard deviation of these (n − 1); null of fewer than two. */
  spread!: number | null;
}

/** What came of one target. A member that has nothing to say is left out. */
export class ScoringResultDto {
  trace_id?: string;
  session_id?: string;
  @ApiProperty({ description: 'Absent where the scorer abstained or failed.' })
  score?: number;
  /** The label that the scorer gave, or the choice that a judge made. */
  choice?: string;
  /** How sure the judge is, from 0 to 1: the probability of its answer, or the share of its samples that agree. */
  confidence?: number;
  @ApiProperty({
    type: 'object',
    additionalProperties: { type: 'number' },
    description: 'Of each choice, or of `true` and `false`, where the judge tells them.',
  })
  probabilities?: object;
  @AnyJsonObject({ required: false })
  answers?: object;
  reasoning?: string;
  backend?: string;
  model?: string;
  /** Why there is no score. */
  error?: string;
  @ApiProperty({ type: 'integer', minimum: 0 })
  elapsed_ms!: number;
  /** What asking the judge cost, in US dollars, where that is known. */
  cost_usd?: number;
  /** SHA-256 of the request to the judge, in hexadecimal digits. */
  request_sha256?: string;
  /** The judge had answered all of this before, and was not asked again. */
  is_cached?: boolean;
  samples?: SampleSpreadDto;
  @AnyJson({
    required: false,
    description:
      'In `preview`: exactly what would be run, or the body of the request that a judge would be sent.',
  })
  preview_request?: unknown;
}

/** The answer to `preview` and `test`. */
export class SynchronousScoresDto {
  @ApiProperty({ enum: [...GRAINS] })
  grain!: Grain;
  @ApiProperty({ enum: [...SCORE_MODES] })
  mode!: ScoreMode;
  results!: ScoringResultDto[];
  scorer_id!: string;
  @ApiProperty({ type: 'integer', minimum: 1 })
  scorer_version!: number;
}

/** The answer to `score`: a run that a worker will take. */
export class QueuedRunDto {
  @ApiProperty({ type: 'integer', minimum: 0 })
  concurrency!: number;
  @ApiProperty({ enum: [...GRAINS] })
  grain!: Grain;
  @ApiProperty({ enum: [...RUN_STATUSES] })
  run_status!: RunStatus;
  score_run_id!: string;
  scorer_id!: string;
  @ApiProperty({ type: 'integer', minimum: 1 })
  scorer_version!: number;
  /** Targets of the run. */
  @ApiProperty({ type: 'integer', minimum: 1 })
  total!: number;
}
