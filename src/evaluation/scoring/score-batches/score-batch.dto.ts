import { ApiProperty } from '@nestjs/swagger';
import { IsInt, IsOptional, Min } from 'class-validator';
import { IsOneOf, ValuesCheckedLater, viewOf, IsOptionalText } from '#platform/http';
import { ChangingListQueryDto, PageOf } from '#platform/paging';
import { type Grain, GRAINS } from '../../scorers';
import { IsCost, TargetSelectionDto } from '../score/scoring.dto';
import {
  BATCH_TARGETS_MAX,
  FAILURE_CODES,
  type FailureCode,
  RUN_STATUSES as BATCH_STATUSES,
  type RunStatus as BatchStatus,
  type ScoreBatchRow,
} from '../score-runs/score-run.entity';

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

/** A batch of runs of one version of a scorer, over targets that were selected when the batch was requested. */
export class ScoreBatchDto {
  score_batch_id!: string;
  workspace_id!: string;
  scorer_id!: string;
  @ApiProperty({ type: 'integer', minimum: 1 })
  scorer_version!: number;
  experiment_id!: string | null;
  @ApiProperty({ enum: [...GRAINS] })
  grain!: Grain;
  /**
   * `queued` until its first run starts, then `running`, then `succeeded` or `failed`. A batch succeeds if at least one of
   * its runs does, and it is neither cancelled nor over its cost limit.
   */
  @ApiProperty({ enum: [...BATCH_STATUSES] })
  batch_status!: BatchStatus;
  /** Number of targets that a run scores at a time. Up to 3 runs are open at a time, or 1 with `max_cost_usd`. */
  @ApiProperty({ type: 'integer', minimum: 1, maximum: 32 })
  concurrency!: number;
  /** Number of targets. A batch without any has succeeded. */
  @ApiProperty({ type: 'integer', minimum: 0, maximum: BATCH_TARGETS_MAX })
  total!: number;
  /** Number of targets without an error, over all runs. */
  @ApiProperty({ type: 'integer', minimum: 0 })
  completed_count!: number;
  /**
   * Number of targets with an error, over all runs. Neither this nor `completed_count` includes targets that are in no run.
   */
  @ApiProperty({ type: 'integer', minimum: 0 })
  failed_count!: number;
  /** Number of scores that the summary of the experiment does not count, over all runs, see `ScoreRun`. */
  @ApiProperty({ type: 'integer', minimum: 0 })
  not_written_back_count!: number;
  /** Number of runs started so far, each over up to 100 targets. `GET /eval/v1/score-runs?score_batch_id=` lists them. */
  @ApiProperty({ type: 'integer', minimum: 0 })
  run_count!: number;
  /** Cost of the judge over all runs, in US dollars, when known. */
  cost_usd!: number | null;
  /** Cost limit, in US dollars. */
  max_cost_usd!: number | null;
  /** Whether cached answers of the judge may be reused. */
  cache!: boolean;
  /** Why the batch failed: `cancelled`, `budget_exceeded` or, if none of its runs succeeded, why the last one failed. */
  @ApiProperty({ enum: [...FAILURE_CODES], nullable: true })
  failure_code!: FailureCode | null;
  failure_detail!: string | null;
  started_at!: Date | null;
  finished_at!: Date | null;
  created_at!: Date;
  updated_at!: Date;
  created_by!: string;
  /** Always null, because batches cannot be archived. */
  @ApiProperty({ type: 'null' } as object)
  archived_at!: null;
}

export class ScoreBatchPageDto extends PageOf(ScoreBatchDto) {}

export const toScoreBatchDto = viewOf(ScoreBatchDto, (row: ScoreBatchRow) => ({
  cache: row.uses_cache,
  archived_at: null,
}));
