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
import { AnyJson, AnyJsonObject, IsOneOf, ValuesCheckedLater, IsTime } from '#platform/http';
import { TRACE_ID } from '../../telemetry';
import { type Grain, GRAINS } from '../scorers';
import type { ScoredItem } from '../scores';
import {
  RUN_STATUSES,
  type RunStatus,
  SCORE_MODES,
  type ScoreMode,
  type ScoreRunRow,
  type ScoringTarget,
} from './score-run.entity';

/** Ids in one member of a request, at most. */
const IDS_MAX = 10_000;

/** A selection of targets, and how to score them. Selectors narrow each other; give at least one. */
@ValuesCheckedLater()
export class ScoreDto {
  /**
   * `score` queues a run. `test` scores up to 5 targets and returns their scores. `preview` returns what would be run on up
   * to 5 targets. `test` and `preview` store nothing.
   */
  @IsOptional()
  @IsOneOf(SCORE_MODES, { required: false, default: 'score' })
  mode?: ScoreMode | null;

  /** What each score is about. Defaults to the grain of the ids, and without ids to that of the scorer. */
  @IsOptional()
  @IsOneOf(GRAINS, { required: false })
  grain?: Grain | null;

  /** Selects the sessions of these agents. */
  @IsOptional()
  @IsArray()
  @ArrayMaxSize(IDS_MAX)
  @IsString({ each: true })
  agent_ids?: string[] | null;

  /** Targets scored at a time: at most 32. 0 means the default of 4. A worker may allow fewer. */
  @ApiProperty({ type: 'integer', minimum: 0, required: false, nullable: true, default: 4 })
  @IsOptional()
  @IsInt()
  @Min(0)
  concurrency?: number | null;

  /** Selects the traces or sessions of this experiment's results. While it runs, scores are written back to them. */
  @IsOptional()
  @IsString()
  experiment_id?: string | null;

  /** Scores only the newest targets: at most 100, in `preview` and `test` 5. Without it, a selection of more is 422. */
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

  /** Selects targets that started at this time or later (RFC 3339). */
  @IsOptional()
  @IsTime({ required: false, nullable: true })
  since?: string | null;

  /** Selects targets that started before this time (RFC 3339). */
  @IsOptional()
  @IsTime({ required: false, nullable: true })
  until?: string | null;

  /**
   * Stops the run when its judge has cost this much, in US dollars. Its `failure_code` is then `budget_exceeded`, and
   * targets that were not scored end with an error. Requests in progress are finished, so that up to `concurrency`
   * requests may exceed the limit.
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

  /** Whether earlier answers to the same request by this version of the scorer are reused. */
  @ApiProperty({ type: 'boolean', required: false, nullable: true, default: true })
  @IsOptional()
  @IsBoolean()
  cache?: boolean | null;

  /** Leaves out targets that this version of the scorer has scored or is about to score. */
  @IsOptional()
  @IsBoolean()
  unscored_only?: boolean | null;
}

/** The spread of the samples of one target. */
export class SampleSpreadDto {
  /** Samples requested from the judge. */
  @ApiProperty({ type: 'integer', minimum: 1 })
  count!: number;
  /** Samples that failed. */
  @ApiProperty({ type: 'integer', minimum: 0 })
  failed_count!: number;
  /** The score of each successful sample, in order. */
  scores!: number[];
  /** Standard deviation of the scores (n − 1); null with fewer than two. */
  spread!: number | null;
}

/** The result of one target. Members without a value are absent. */
export class ScoringResultDto {
  trace_id?: string;
  session_id?: string;
  @ApiProperty({ description: 'Absent when the scorer abstained or failed.' })
  score?: number;
  /** The label of the scorer, or the choice of a judge. */
  choice?: string;
  /** Confidence of the judge, from 0 to 1: the probability of its answer, or the share of its samples that agree. */
  confidence?: number;
  @ApiProperty({
    type: 'object',
    additionalProperties: { type: 'number' },
    description: 'Probability of each choice, or of `true` and `false`, when the judge returns it.',
  })
  probabilities?: object;
  @AnyJsonObject({ required: false })
  answers?: object;
  reasoning?: string;
  backend?: string;
  model?: string;
  /** Why the target has no score. */
  error?: string;
  @ApiProperty({ type: 'integer', minimum: 0 })
  elapsed_ms!: number;
  /** Cost of the judge, in US dollars, when known. */
  cost_usd?: number;
  /** SHA-256 of the request to the judge, in hexadecimal. */
  request_sha256?: string;
  /** Whether the result comes from earlier answers of the judge. */
  is_cached?: boolean;
  samples?: SampleSpreadDto;
  @AnyJson({
    required: false,
    description: 'In `preview`: exactly what would be run, or the body of the request to the judge.',
  })
  preview_request?: unknown;
}

/** The response to `preview` and `test`. */
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

/** The response to `score`: a queued run. */
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
  /** Number of targets. */
  @ApiProperty({ type: 'integer', minimum: 1 })
  total!: number;
}

export const toQueuedRunDto = (run: ScoreRunRow): QueuedRunDto => ({
  concurrency: run.concurrency,
  grain: run.grain,
  run_status: run.run_status,
  score_run_id: run.score_run_id,
  scorer_id: run.scorer_id,
  scorer_version: run.scorer_version,
  total: run.total,
});

/** Returns the view of a result that is not stored. */
export const toScoringResultDto = (
  { trace_id, session_id }: ScoringTarget,
  item: ScoredItem,
): ScoringResultDto => ({ ...present({ trace_id, session_id }), ...item });

type Present<Members> = { [Name in keyof Members]?: Exclude<Members[Name], null> };

/** Leaves out the members that are null. */
export const present = <Members extends object>(members: Members): Present<Members> =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null)) as Present<Members>;
