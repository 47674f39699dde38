import { ApiProperty } from '@nestjs/swagger';
import {
  ArrayMaxSize,
  ArrayMinSize,
  IsArray,
  IsBoolean,
  IsInt,
  IsOptional,
  IsString,
  MaxLength,
  Min,
} from 'class-validator';
import { IsOneOf, ValuesCheckedLater, viewOf, IsOptionalText, IsWholeNumber } from '#platform/http';
import { ChangingListQueryDto, PageOf } from '#platform/paging';
import { IsCost, TargetSelectionDto } from '../score/scoring.dto';
import {
  BATCH_TARGETS_MAX,
  RUN_STATUSES as BATCH_STATUSES,
  type RunStatus as BatchStatus,
} from '../score-runs/score-run.types';
import { ScoringWorkDto } from '../score-runs/score-run.dto';

/** Maximum number of scorers of an order. */
const SCORERS_MAX = 20;
const SCORER_NAME_MAX = 255;

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

/** Which scorers score the results of an experiment. */
export class ScoreExperimentDto {
  /** The workspace that X-Service-Workspace-Id names. */
  @IsOptionalText()
  workspace_id?: string;

  /** 1 to 20 scorers, each by its id or name. A scorer that is named twice is ordered once. */
  @ApiProperty({ type: [String], minItems: 1, maxItems: SCORERS_MAX })
  @IsArray()
  @ArrayMinSize(1)
  @ArrayMaxSize(SCORERS_MAX)
  @IsString({ each: true })
  @MaxLength(SCORER_NAME_MAX, { each: true })
  scorers!: string[];

  /** Skips results that this version of the scorer has scored, or that are in one of its open runs or batches. */
  @IsOptional()
  @IsBoolean()
  unscored_only?: boolean | null;

  /** Number of results scored at a time in each run, at most 32; 0 means the default of 4. Workers may allow fewer. */
  @IsOptional()
  @IsWholeNumber({ minimum: 0, required: false, nullable: true, default: 4 })
  concurrency?: number | null;

  /**
   * Limit for the cost of all batches together, in US dollars; with a limit, the batches run one after the other. At the limit,
   * open batches fail with `budget_exceeded`; requests in progress are finished, so up to `concurrency` may exceed it.
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

/** The batches of an order, in the order of its scorers. */
export class ScoreBatchesDto {
  score_batches!: ScoreBatchDto[];
}

export class ScoreBatchPageDto extends PageOf(ScoreBatchDto) {}

/** A batch as the repository reads it. */
export type ScoreBatchRow = Omit<ScoreBatchDto, 'archived_at'>;

export const toScoreBatchDto = viewOf(ScoreBatchDto, () => ({ archived_at: null }));
