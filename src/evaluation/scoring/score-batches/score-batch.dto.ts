import { ApiProperty } from '@nestjs/swagger';
import { IsInt, IsOptional, Min } from 'class-validator';
import { IsOneOf, ValuesCheckedLater, viewOf, IsOptionalText } from '#platform/http';
import { ChangingListQueryDto, PageOf } from '#platform/paging';
import { IsCost, TargetSelectionDto } from '../score/scoring.dto';
import {
  BATCH_TARGETS_MAX,
  RUN_STATUSES as BATCH_STATUSES,
  type RunStatus as BatchStatus,
} from '../score-runs/score-run.types';
import { ScoringWorkDto } from '../score-runs/score-run.dto';

/** A selection of up to 100,000 targets, and how to score them. Selectors narrow each other; give at least one. */
@ValuesCheckedLater()
export class CreateScoreBatchDto extends TargetSelectionDto {
  /**
   * Scores only the newest targets (of an experiment, its newest results). Without a limit, a selection of more than 100,000
   * targets is rejected (422).
   */
  @ApiProperty({
    type: 'integer',
    minimum: 0,
    maximum: BATCH_TARGETS_MAX,
    required: false,
    nullable: true,
  })
  @IsOptional()
  @IsInt()
  @Min(0)
  limit?: number | null;

  /**
   * Limit for the cost of the judge over all runs, in US dollars; with a limit, runs are executed one at a time. At the
   * limit, the batch fails with `budget_exceeded`; requests in progress are finished, so up to `concurrency` requests may
   * exceed it.
   */
  @IsCost()
  max_cost_usd?: number | null;
}

export class ScoreBatchListQueryDto extends ChangingListQueryDto {
  /** Batches of any version of this scorer. */
  @IsOptionalText()
  scorer_id?: string;

  @IsOptional()
  @IsOneOf(BATCH_STATUSES, { required: false })
  batch_status?: BatchStatus;

  /** Batches over the results of this experiment. */
  @IsOptionalText()
  experiment_id?: string;
}

/**
 * A batch of runs of one version of a scorer, over targets that were selected when the batch was requested. Counts and costs
 * are those of all its runs. `completed_count` and `failed_count` leave out targets that are in no run yet. Up to 3 runs are
 * open at a time, or 1 with `max_cost_usd`.
 */
export class ScoreBatchDto extends ScoringWorkDto {
  score_batch_id!: string;
  /**
   * `queued` until its first run starts, then `running`, then `succeeded` or `failed`. A batch succeeds if at least one of
   * its runs does, and it is neither cancelled nor over its cost limit.
   */
  @ApiProperty({ enum: [...BATCH_STATUSES] })
  batch_status!: BatchStatus;
  /** Number of runs started so far, each over up to 100 targets. `GET /eval/v1/score-runs?score_batch_id=` lists them. */
  @ApiProperty({ type: 'integer', minimum: 0 })
  run_count!: number;
}

export class ScoreBatchPageDto extends PageOf(ScoreBatchDto) {}

/** A batch as the repository reads it. */
export type ScoreBatchRow = Omit<ScoreBatchDto, 'archived_at'>;

export const toScoreBatchDto = viewOf(ScoreBatchDto, () => ({ archived_at: null }));
