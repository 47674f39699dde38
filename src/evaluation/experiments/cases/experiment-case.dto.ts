import { ApiProperty } from '@nestjs/swagger';
import { AnyJson, AnyJsonObject, IsOneOf, NotNull, viewOf } from '#platform/http';
import type { RawJson } from '#platform/json';
import { PageOf, PageQueryDto } from '#platform/paging';

export const CASE_STATES = ['pending', 'failed', 'done'] as const;
export type CaseState = (typeof CASE_STATES)[number];

/** Maximum number of results of a case that its state covers: as many as it can have trials. */
export const CASE_RESULTS_MAX = 100;

const STATE_DESCRIPTION =
  '`pending` if the case has fewer results than the experiment has `trials`; else `failed` if at least one has an `error`, or ' +
  '`done`.';

/** Selects a page of the cases, in the order of the dataset: records by creation, oldest first, or rows of a CSV version. */
export class ExperimentCaseListQueryDto extends PageQueryDto {
  @NotNull()
  @IsOneOf(CASE_STATES, { required: false, description: STATE_DESCRIPTION })
  state?: CaseState;
}

/** A case of an experiment, as it stood when the experiment was created. */
export class ExperimentCaseDto {
  /** The `external_id` of the record, else its id; for a CSV version, the case id of the row. */
  case_id!: string;
  /** Null for a CSV version. */
  dataset_record_id!: string | null;
  /** The version of the record when the experiment was created. Null for a CSV version. */
  @ApiProperty({ type: 'integer', minimum: 1, nullable: true })
  dataset_record_version!: number | null;
  @AnyJson()
  input!: unknown;
  @AnyJson()
  expected!: unknown;
  @AnyJsonObject()
  metadata!: object;
  tags!: string[];
  @ApiProperty({ enum: CASE_STATES, description: STATE_DESCRIPTION })
  state!: CaseState;
  /** The results of the case, oldest first. `state` and `result_ids` cover the first 100 results. */
  @ApiProperty({ type: [String], maxItems: CASE_RESULTS_MAX })
  result_ids!: string[];
  /** The trials without a result, counted from 1. `[1]` for a pending case that is run once. */
  @ApiProperty({ type: 'array', items: { type: 'integer', minimum: 1 } })
  missing_trials!: number[];
  /** The trials whose result has an `error`. */
  @ApiProperty({ type: 'array', items: { type: 'integer', minimum: 1 } })
  failed_trials!: number[];
}

export class ExperimentCasePageDto extends PageOf(ExperimentCaseDto) {}

/** A case as it is read. */
export type CaseRow = Omit<ExperimentCaseDto, 'input' | 'expected' | 'metadata'> & {
  input: RawJson | null;
  expected: RawJson | null;
  metadata: RawJson;
};

export const toExperimentCaseDto = viewOf(ExperimentCaseDto) as unknown as (
  row: CaseRow,
) => ExperimentCaseDto;
