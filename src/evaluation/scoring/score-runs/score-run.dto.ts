import { ApiProperty } from '@nestjs/swagger';
import { IsOptional } from 'class-validator';
import { AnyJson, AnyJsonObject, IsOneOf, viewOf, IsOptionalText } from '#platform/http';
import { ChangingListQueryDto, PageOf } from '#platform/paging';
import { type Grain, GRAINS } from '../../scorers';
import type { ScoredItem } from '../../scores';
import { isResult, type ScoringTarget } from '../targets/target.entity';
import { FAILURE_CODES, type FailureCode, RUN_STATUSES, type RunStatus } from './score-run.types';

export class ScoreRunListQueryDto extends ChangingListQueryDto {
  /** Runs of any version of this scorer. */
  @IsOptionalText()
  scorer_id?: string;

  @IsOptional()
  @IsOneOf(RUN_STATUSES, { required: false })
  run_status?: RunStatus;

  /** Runs over the results of this experiment. */
  @IsOptionalText()
  experiment_id?: string;

  /** Runs that this rule started. */
  @IsOptionalText()
  rule_id?: string;

  /** Runs of this batch. */
  @IsOptionalText()
  score_batch_id?: string;
}

/** Members that runs and batches share. */
export class ScoringWorkDto {
  workspace_id!: string;
  scorer_id!: string;
  @ApiProperty({ type: 'integer', minimum: 1 })
  scorer_version!: number;
  /** Whether the scorer was deleted. */
  scorer_erased!: boolean;
  experiment_id!: string | null;
  @ApiProperty({ enum: [...GRAINS] })
  grain!: Grain;
  /** Number of targets. Without any, the work has succeeded. */
  @ApiProperty({ type: 'integer', minimum: 0 })
  total!: number;
  /** Number of targets without an error. */
  @ApiProperty({ type: 'integer', minimum: 0 })
  completed_count!: number;
  /** Number of targets with an error. */
  @ApiProperty({ type: 'integer', minimum: 0 })
  failed_count!: number;
  /**
   * Number of scores (including deliberate nulls) that the summary of the experiment does not count, because the experiment
   * was finalized or the result was replaced before the score was given.
   */
  @ApiProperty({ type: 'integer', minimum: 0 })
  not_written_back_count!: number;
  /**
   * Number of targets without an error of which the scorer saw only a part, because a transcript, or the trace or session, was
   * too large. Their scores have `is_truncated`.
   */
  @ApiProperty({ type: 'integer', minimum: 0 })
  truncated_count!: number;
  /** Number of targets with an error because their input, output or expected value was too large to be shown whole. */
  @ApiProperty({ type: 'integer', minimum: 0 })
  too_large_count!: number;
  /** Number of targets that a run scores at a time. */
  @ApiProperty({ type: 'integer', minimum: 1, maximum: 32 })
  concurrency!: number;
  /** Cost of the judge, in US dollars, when known. */
  cost_usd!: number | null;
  /** Cost limit, in US dollars. */
  max_cost_usd!: number | null;
  /** Whether cached answers of the judge may be reused. */
  cache!: boolean;
  /**
   * Why it failed: `all_targets_failed`, `no_scores` (the scorer abstained from all targets that did not fail), `cancelled`,
   * `budget_exceeded`, `deadline_exceeded`, `worker_lost` (workers crashed), `scorer_deleted`, `internal_error` (workers failed
   * to execute the run). A batch fails if it is `cancelled`, with `budget_exceeded` or, if none of its runs succeeded, for the
   * reason of the last one.
   */
  @ApiProperty({ enum: [...FAILURE_CODES], nullable: true })
  failure_code!: FailureCode | null;
  failure_detail!: string | null;
  started_at!: Date | null;
  finished_at!: Date | null;
  created_at!: Date;
  updated_at!: Date;
  created_by!: string;
  /** Always null, because it cannot be archived. */
  @ApiProperty({ type: 'null' } as object)
  archived_at!: null;
}

/** A run of one version of a scorer over targets that were selected when the run was requested. */
export class ScoreRunDto extends ScoringWorkDto {
  score_run_id!: string;
  /** `queued`, then `running`, then `succeeded` or `failed`. */
  @ApiProperty({ enum: [...RUN_STATUSES] })
  run_status!: RunStatus;
  /** The rule that started the run; null for any other run. */
  rule_id!: string | null;
  /** The batch that the run belongs to; null for a run outside of batches. */
  score_batch_id!: string | null;
}

export class ScoreRunPageDto extends PageOf(ScoreRunDto) {}

/** The spread of the samples of one target. */
export class SampleSpreadDto {
  /** Number of samples requested from the judge. */
  @ApiProperty({ type: 'integer', minimum: 1 })
  count!: number;
  /** Number of samples that failed. */
  @ApiProperty({ type: 'integer', minimum: 0 })
  failed_count!: number;
  /** The score of each successful sample, in order. */
  scores!: number[];
  /** Sample standard deviation of the scores (n − 1); null for fewer than two. */
  spread!: number | null;
}

/** The result of one target. Members without a value are absent. */
export class ScoringResultDto {
  trace_id?: string;
  session_id?: string;
  /** The result that was scored. Absent if the target is a trace or a session. */
  result_id?: string;
  /** The case of that result. */
  case_id?: string;
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
  /** The model that answered, as its provider names it. If several models answered the samples, all of them. */
  model?: string;
  /**
   * Identifies what judged: SHA-256, in hexadecimal, of the definition, the backend, and the provider's kind, base URL and
   * model. Scores with different digests are not comparable.
   */
  judge_digest?: string;
  /**
   * True if the scorer could not be shown all of the target. With a score, a transcript was cut, and with an `error`, the input,
   * output or expected value was too large to be shown whole.
   */
  is_truncated?: boolean;
  /** Why the target has no score. */
  error?: string;
  @ApiProperty({ type: 'integer', minimum: 0 })
  elapsed_ms!: number;
  /** Cost of the judge, in US dollars, when known. */
  cost_usd?: number;
  /** SHA-256 of the request to the judge, in hexadecimal. */
  request_sha256?: string;
  /** Whether the result comes from cached answers of the judge. */
  is_cached?: boolean;
  samples?: SampleSpreadDto;
  @AnyJson({
    required: false,
    description:
      'In `preview`: what would be run, or the body of the request that would be sent to the judge.',
  })
  preview_request?: unknown;
}

/** The stored result of one target of a run. */
export class ScoreResultDto extends ScoringResultDto {
  score_id!: string;
  score_run_id!: string;
  scorer_id!: string;
  @ApiProperty({ type: 'integer', minimum: 1 })
  scorer_version!: number;
  created_at!: Date;
}

export class ScoreResultPageDto extends PageOf(ScoreResultDto) {}

/** A run as the repository reads it. */
export type ScoreRunRow = Omit<ScoreRunDto, 'archived_at'>;

export const toScoreRunDto = viewOf(ScoreRunDto, () => ({ archived_at: null }));

/** A result as the repository reads it. Members without a value are null. */
export type ScoreResultRow = {
  [Member in Exclude<keyof ScoreResultDto, 'preview_request'>]: ScoreResultDto[Member] | null;
};

const toResultView = viewOf(ScoreResultDto);

export const toScoreResultDto = (row: ScoreResultRow): ScoreResultDto =>
  toResultView(present(row) as ScoreResultDto);

/** Returns the view of a result that is not stored. */
export const toScoringResultDto = (target: ScoringTarget, item: ScoredItem): ScoringResultDto => {
  const { trace_id, session_id, result_id, case_id } = target;
  return { ...present({ trace_id, session_id, ...(isResult(target) && { result_id, case_id }) }), ...item };
};

type Present<Members> = { [Name in keyof Members]?: Exclude<Members[Name], null> };

/** Removes the members that are null. */
export const present = <Members extends object>(members: Members): Present<Members> =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null)) as Present<Members>;
