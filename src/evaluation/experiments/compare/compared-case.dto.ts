import { ApiProperty } from '@nestjs/swagger';
import { AnyJson } from '#platform/http';
import { PageOf } from '#platform/paging';
import { type ComparedCases, type Outcome, outcomeOf, OUTCOMES, resultsOf } from '../../statistics';
import type { ComparedRow } from './compared-result.repository';
import type { Usage } from './usage-reader';

/** The reason that a scorer gave with a score. */
export class ScoreReasonDto {
  label?: string;
  comment?: string;
}

/** One experiment's result for a case. Each trial is a result. */
export class ComparedResultDto {
  result_id!: string;
  case_id!: string;
  @AnyJson()
  output!: unknown;
  @AnyJson()
  error!: unknown;
  /** Whether its content was erased. */
  erased!: boolean;
  /** Score by scorer name, of the compared versions; null if the scorer abstained. */
  @ApiProperty({ type: 'object', additionalProperties: { type: ['number', 'null'] } } as object)
  scores!: Record<string, number | null>;
  /** Label and comment by scorer name, for the scores that have one. */
  @ApiProperty({ type: 'object', additionalProperties: { $ref: '#/components/schemas/ScoreReasonDto' } })
  score_details!: Record<string, ScoreReasonDto>;
  trace_id!: string | null;
  session_id!: string | null;
  duration_ms!: number | null;
  /** Tokens of its trace; null if it names none, the trace has not arrived, or no span reports them. */
  @ApiProperty({ type: 'integer', format: 'int64', minimum: 0, nullable: true })
  input_tokens!: number | null;
  @ApiProperty({ type: 'integer', format: 'int64', minimum: 0, nullable: true })
  output_tokens!: number | null;
  /** Cost of its trace; null if it is unknown. */
  cost_usd!: number | null;
  @ApiProperty({ type: 'integer', minimum: 0, nullable: true })
  trial_index!: number | null;
}

export class ComparedCaseDto {
  /**
   * The `case_id` of its first result. Results belong to the same case if they have the same `dataset_record_id`, else the
   * same `trial_group`, else the same `case_id`.
   */
  case_id!: string;
  dataset_record_id!: string | null;
  trial_group!: string | null;
  /** The input of its first result. */
  @AnyJson()
  input!: unknown;
  /** The expected output of its first result. */
  @AnyJson()
  expected!: unknown;
  /** The difference that sorts the case: candidate - baseline by `scorer`, or the mean over all scorers. */
  difference!: number | null;
  @ApiProperty({ enum: OUTCOMES })
  outcome!: Outcome;
  /** Candidate - baseline by scorer name, each side the mean of its trials; null if either side has no score. */
  @ApiProperty({ type: 'object', additionalProperties: { type: ['number', 'null'] } } as object)
  differences!: Record<string, number | null>;
  /** Number of trials. */
  @ApiProperty({ type: 'integer', minimum: 0 })
  candidate_count!: number;
  @ApiProperty({ type: 'integer', minimum: 0 })
  baseline_count!: number;
  /** The first 20 trials in order of arrival, or fewer if they are large. */
  candidate!: ComparedResultDto[];
  baseline!: ComparedResultDto[];
}

export class ComparedCasePageDto extends PageOf(ComparedCaseDto) {}

/**
 * @param difference the value that sorts the case; NaN without one
 * @param results rows of each side
 * @param usage the usage of their traces, by id
 */
export function toCase(
  cases: ComparedCases,
  scorers: readonly string[],
  index: number,
  difference: number,
  results: { candidate: ComparedRow[]; baseline: ComparedRow[] },
  usage: ReadonlyMap<string, Usage>,
): ComparedCaseDto {
  const first = [results.candidate[0], results.baseline[0]];
  const named = first[0] ?? first[1];
  return {
    // the results of a running experiment may have been replaced since they were compared
    case_id: named?.case_id ?? cases.keys[index]!,
    dataset_record_id: named?.dataset_record_id ?? null,
    trial_group: named?.trial_group ?? null,
    input: first[0]?.input ?? first[1]?.input ?? null,
    expected: first[0]?.expected ?? first[1]?.expected ?? null,
    difference: orNull(difference),
    outcome: outcomeOf(difference, cases.isChanged[index] === 1),
    // fromEntries defines members, so that a scorer may be named __proto__
    differences: Object.fromEntries(
      scorers.map((scorer, i) => [scorer, orNull(cases.differences[i]![index]!)]),
    ),
    candidate_count: resultsOf(cases.candidate, index).length,
    baseline_count: resultsOf(cases.baseline, index).length,
    candidate: results.candidate.map((row) => toResult(row, usage)),
    baseline: results.baseline.map((row) => toResult(row, usage)),
  };
}

const orNull = (number: number): number | null => (Number.isNaN(number) ? null : number);

const toResult = (
  {
    input: _input,
    expected: _expected,
    dataset_record_id: _record,
    trial_group: _group,
    ...result
  }: ComparedRow,
  usage: ReadonlyMap<string, Usage>,
): ComparedResultDto => {
  const { trial_index, ...before } = result;
  const {
    input_tokens = null,
    output_tokens = null,
    cost_usd = null,
  } = usage.get(result.trace_id ?? '') ?? {};
  return { ...before, input_tokens, output_tokens, cost_usd, trial_index } as unknown as ComparedResultDto;
};
