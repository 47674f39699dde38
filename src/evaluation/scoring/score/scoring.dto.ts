import { applyDecorators } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import {
  ArrayMaxSize,
  IsArray,
  IsBoolean,
  IsNumber,
  IsOptional,
  IsPositive,
  IsString,
} from 'class-validator';
import {
  IsOneOf,
  ValuesCheckedLater,
  viewOf,
  IsNullableText,
  IsNullableTime,
  IsWholeNumber,
} from '#platform/http';
import { IsRuleFilters, type RuleFilterDto, IsTraceIds } from '../../../telemetry';
import { type Grain, GRAINS } from '../../scorers';
import type { ScoreRunRow, ScoringResultDto } from '../score-runs/score-run.dto';
import { RUN_STATUSES, type RunStatus } from '../score-runs/score-run.types';
import { SCORE_MODES, type ScoreMode } from '../targets/target.entity';

/** Maximum number of ids in one member of a request. */
const IDS_MAX = 10_000;

/** Declares an optional amount of US dollars, more than 0. */
export const IsCost = (): PropertyDecorator =>
  applyDecorators(
    ApiProperty({
      type: 'number',
      minimum: 0,
      exclusiveMinimum: 0,
      required: false,
      nullable: true,
    } as object),
    IsOptional(),
    IsNumber({ allowNaN: false, allowInfinity: false }),
    IsPositive(),
  );

/** A selection of targets, and how to score them. Selectors narrow each other; give at least one. */
export abstract class TargetSelectionDto {
  /** Whether each score is about a trace or a session. Defaults to the grain of the ids, else to the grain of the scorer. */
  @IsOptional()
  @IsOneOf(GRAINS, { required: false })
  grain?: Grain | null;

  /** Selects the sessions of these agents. */
  @IsOptional()
  @IsArray()
  @ArrayMaxSize(IDS_MAX)
  @IsString({ each: true })
  agent_ids?: string[] | null;

  /** Number of targets scored at a time, at most 32; 0 means the default of 4. Workers may allow fewer. */
  @IsOptional()
  @IsWholeNumber({ minimum: 0, required: false, nullable: true, default: 4 })
  concurrency?: number | null;

  /**
   * Selects the results of this experiment: each is a target, with or without a trace. The scores count in comparisons and,
   * while the experiment is running, are also written to its results.
   */
  @IsNullableText()
  experiment_id?: string | null;

  /**
   * Selects the traces that meet all of these conditions, the sessions with such a trace, or the results with such a trace.
   * An empty list counts as no filters.
   */
  @IsRuleFilters()
  filters?: RuleFilterDto[] | null;

  /** Selects these sessions. Without `experiment_id`, scorers see only their own messages and traces. */
  @IsOptional()
  @IsArray()
  @ArrayMaxSize(IDS_MAX)
  @IsString({ each: true })
  session_ids?: string[] | null;

  /** Selects these traces. Without `experiment_id`, scorers see only their own content, even if a result names them. */
  @IsTraceIds({ maxItems: IDS_MAX })
  trace_ids?: string[] | null;

  /**
   * Selects targets that started at this time or later (RFC 3339). For a result without a stored trace, its creation time
   * counts.
   */
  @IsNullableTime()
  since?: string | null;

  /** Selects targets that started before this time (RFC 3339). */
  @IsNullableTime()
  until?: string | null;

  /** Whether to reuse the judge's cached answers to the same requests of this scorer version. */
  @ApiProperty({ type: 'boolean', required: false, nullable: true, default: true })
  @IsOptional()
  @IsBoolean()
  cache?: boolean | null;

  /**
   * Skips targets that this version of the scorer has scored, or that are in one of its open runs or batches, but not
   * results that were replaced since. If nothing is left, `total` is 0 and the scoring succeeds.
   */
  @IsOptional()
  @IsBoolean()
  unscored_only?: boolean | null;
}

/** A selection of targets, and how to score them. Selectors narrow each other; give at least one. */
@ValuesCheckedLater()
export class ScoreRequestDto extends TargetSelectionDto {
  /**
   * `score` queues a run, `test` scores up to 5 targets and returns the results, and `preview` returns, for up to 5 targets,
   * what would be run or sent to the judge. `test` and `preview` store nothing.
   */
  @IsOptional()
  @IsOneOf(SCORE_MODES, { required: false, default: 'score' })
  mode?: ScoreMode | null;

  /**
   * Scores only the newest targets (of an experiment, its newest results), at most 100, or 5 in `preview` and `test`.
   * Without a limit, a larger selection is rejected (422).
   */
  @IsOptional()
  @IsWholeNumber({ minimum: 0, required: false, nullable: true })
  limit?: number | null;

  /**
   * Limit for the cost of the judge, in US dollars; at the limit, the run fails with `budget_exceeded`, and targets that
   * were not scored get an error. Requests in progress are finished, so up to `concurrency` requests may exceed the limit.
   */
  @IsCost()
  max_cost_usd?: number | null;
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

/** The response to `score`: a queued run. Without targets, it succeeds without a worker. */
export class QueuedRunDto {
  @ApiProperty({ type: 'integer', minimum: 0 })
  concurrency!: number;
  @ApiProperty({ enum: [...GRAINS] })
  grain!: Grain;
  /** Always `queued`. Read the run for its progress. */
  @ApiProperty({ enum: [...RUN_STATUSES] })
  run_status!: RunStatus;
  score_run_id!: string;
  scorer_id!: string;
  @ApiProperty({ type: 'integer', minimum: 1 })
  scorer_version!: number;
  /** Number of targets. 0 if nothing matches. */
  @ApiProperty({ type: 'integer', minimum: 0 })
  total!: number;
}

export const toQueuedRunDto = viewOf(QueuedRunDto, (_: ScoreRunRow) => ({ run_status: 'queued' as const }));
