import { ApiProperty } from '@nestjs/swagger';
import { IsOptional, IsString } from 'class-validator';
import { IsOneOf } from '#platform/http';
import { ChangingListQueryDto, PageMetaDto } from '#platform/paging';
import { type Grain, GRAINS } from '../scorers/scorer.entity';
import { type FailureCode, RUN_STATUSES, type RunStatus } from './score-run.entity';
import { ScoringResultDto } from './scoring.dto';

export class ScoreRunListQueryDto extends ChangingListQueryDto {
  /** Runs of this scorer, of any of its versions. */
  @IsOptional()
  @IsString()
  scorer_id?: string;

  @IsOptional()
  @IsOneOf(RUN_STATUSES, { required: false })
  run_status?: RunStatus;

  /** Runs that scored the traces or sessions of this experiment. */
  @IsOptional()
  @IsString()
  experiment_id?: string;

  /** Runs that this rule ordered. */
  @IsOptional()
  @IsString()
  rule_id?: string;
}

/** A run of a scorer over targets that were frozen as it was accepted. */
export class ScoreRunDto {
  score_run_id!: string;
  workspace_id!: string;
  scorer_id!: string;
  @ApiProperty({ type: 'integer', minimum: 1 })
  scorer_version!: number;
  experiment_id!: string | null;
  /** The rule that ordered the run; null where somebody asked for it. */
  rule_id!: string | null;
  @ApiProperty({ enum: [...GRAINS] })
  grain!: Grain;
  /** `queued`, `running`, then `succeeded` or `failed` for good. */
  @ApiProperty({ enum: [...RUN_STATUSES] })
  run_status!: RunStatus;
  @ApiProperty({ type: 'integer', minimum: 1, maximum: 32 })
  concurrency!: number;
  /** Targets of the run. */
  @ApiProperty({ type: 'integer', minimum: 1 })
  total!: number;
  /** Targets that the scorer answered. */
  @ApiProperty({ type: 'integer', minimum: 0 })
  completed_count!: number;
  /** Targets that ended with an error. */
  @ApiProperty({ type: 'integer', minimum: 0 })
  failed_count!: number;
  /** What the judge's calls cost, where that is known. */
  cost_usd!: number | null;
  /** What they may cost; see the request. */
  max_cost_usd!: number | null;
  /** Whether what a judge answered before was not asked again. */
  cache!: boolean;
  /**
   * Why the run failed: `all_targets_failed`, `no_scores`, `cancelled`, `budget_exceeded`, `deadline_exceeded`,
   * `worker_lost` (workers died with it), `internal_error` (workers could not go on with it).
   */
  @ApiProperty({ type: 'string', nullable: true })
  failure_code!: FailureCode | null;
  failure_detail!: string | null;
  started_at!: Date | null;
  finished_at!: Date | null;
  created_at!: Date;
  updated_at!: Date;
  created_by!: string;
  /** Always null: runs are not archived by themselves. */
  @ApiProperty({ type: 'null' } as object)
  archived_at!: null;
}

export class ScoreRunPageDto {
  items!: ScoreRunDto[];
  page!: PageMetaDto;
}

/** What came of one target of a run, as it is kept. */
export class ScoreResultDto extends ScoringResultDto {
  score_id!: string;
  score_run_id!: string;
  scorer_id!: string;
  @ApiProperty({ type: 'integer', minimum: 1 })
  scorer_version!: number;
  created_at!: Date;
}

export class ScoreResultPageDto {
  items!: ScoreResultDto[];
  page!: PageMetaDto;
}
