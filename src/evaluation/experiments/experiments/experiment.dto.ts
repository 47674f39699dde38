import { ApiProperty } from '@nestjs/swagger';
import {
  ArrayMaxSize,
  ArrayMinSize,
  IsArray,
  IsBoolean,
  IsInt,
  IsOptional,
  IsString,
  Length,
} from 'class-validator';
import {
  AnyJson,
  AnyJsonObject,
  IsJson,
  IsJsonObject,
  IsOneOf,
  IsTags,
  METADATA_MAX_BYTES,
  Nested,
  NotNull,
  ValuesCheckedLater,
  ReadOnlyMembersOf,
  IsNullableText,
  IsOptionalText,
  IsText,
  viewOf,
  IsWholeNumber,
} from '#platform/http';
import { PageOf } from '#platform/paging';
import { IsDescription, StampsDto } from '../../../resources';
import {
  EXPERIMENT_STATUSES,
  type ExperimentEntity,
  type ExperimentStatus,
  SUBJECT_KINDS,
  type SubjectKind,
} from './experiment.entity';

const METRICS_DESCRIPTION =
  'Counts and duration as the client measured them: `cases`, `successful_cases`, `failed_cases`, `duration_ms`, in snake_case or camelCase. Stored as sent.';

/** Members that create and PATCH share. */
class ExperimentMembersDto {
  @IsOptional()
  @IsDescription()
  description?: string | null;

  @IsNullableText()
  baseline_experiment_id?: string | null;

  /** The kind of resource that the experiment evaluates. Set both `subject_kind` and `subject_id`, or neither. */
  @IsOptional()
  @IsOneOf(SUBJECT_KINDS, { required: false, nullable: true })
  subject_kind?: SubjectKind | null;

  @IsNullableText(255)
  subject_id?: string | null;

  @IsOptional()
  @IsJson({
    required: false,
    description:
      'A pinned description of the context that changed in this experiment, such as prompts, tools and their versions.',
  })
  context_manifest?: unknown;

  @IsOptional()
  @IsTags()
  tags?: string[] | null;
}

/** Maximum number of ids in a filter. */
const FILTER_IDS_MAX = 10_000;

/** Maximum number of trials of a case. */
export const TRIALS_MAX = 100;

/** Selects part of a dataset. All conditions must match. With `dataset_version`, only `tags` and `case_ids` are allowed. */
export class DatasetFilterDto {
  /** Cases with all of these tags. */
  @IsOptional()
  @IsTags()
  tags?: string[] | null;

  @IsNullableText(255)
  label?: string | null;

  @IsNullableText(255)
  category?: string | null;

  @IsOptional()
  @IsArray()
  @ArrayMinSize(1)
  @ArrayMaxSize(FILTER_IDS_MAX)
  @IsString({ each: true })
  @Length(1, 255, { each: true })
  dataset_record_ids?: string[] | null;

  @IsOptional()
  @IsArray()
  @ArrayMinSize(1)
  @ArrayMaxSize(FILTER_IDS_MAX)
  @IsString({ each: true })
  @Length(1, 255, { each: true })
  case_ids?: string[] | null;
}

@ValuesCheckedLater()
@ReadOnlyMembersOf(() => ExperimentDto)
export class CreateExperimentDto extends ExperimentMembersDto {
  /** The workspace that X-Service-Workspace-Id names. */
  @IsString()
  workspace_id!: string;

  /** The stable name of the evaluation. Need not be unique. */
  @IsText(255)
  name!: string;

  /** The name of this experiment. Defaults to `name`. */
  @IsNullableText(255)
  experiment_name?: string | null;

  @IsOptional()
  @IsJsonObject({ description: 'Free-form. The filter `config=key:value` searches it.' })
  config?: object | null;

  @IsNullableText()
  dataset_id?: string | null;

  /**
   * Pins a CSV version of the dataset; required if the cases of the dataset are all in CSV versions. Without it, the
   * experiment is backed by the dataset's records that are not archived.
   */
  @IsOptional()
  @IsWholeNumber({ minimum: 1, maximum: 2_147_483_647, format: 'int32', nullable: true, required: false })
  dataset_version?: number | null;

  /** Restricts the experiment to part of the dataset. A result outside it returns 400. */
  @IsOptional()
  @Nested(() => DatasetFilterDto)
  dataset_filter?: DatasetFilterDto | null;

  /**
   * How often each case is run. If it is more than 1, the results of a case have the ids `<case>#1`, `<case>#2` and so on; 400
   * with `dataset_version`, and for a case id that is longer than 251 characters or ends in `#` and digits.
   */
  @IsOptional()
  @IsWholeNumber({
    minimum: 1,
    maximum: TRIALS_MAX,
    format: 'int32',
    nullable: true,
    required: false,
    default: 1,
  })
  trials?: number | null;

  /**
   * Your own key for the experiment, such as a commit id, unique among the experiments with the same `name` and
   * `experiment_name` that are neither failed nor archived. A second request with the key returns 409 or, with `resume`, the
   * existing experiment.
   */
  @IsNullableText(255)
  run_key?: string | null;

  @IsOptional()
  @IsJsonObject({ maxBytes: METADATA_MAX_BYTES, description: 'Free-form, at most 16 KiB as JSON.' })
  metadata?: object | null;

  /**
   * Returns an existing experiment (200) instead of creating one (201): the running or completed one with this `run_key`, or
   * without a key the running one with the same `name`, `experiment_name` and dataset. Returns 409 if the body has a
   * dataset, dataset version, dataset filter, number of trials, subject or config that the experiment does not have; omitted members are not
   * compared, and other members do not change the experiment.
   */
  @IsOptional()
  @IsBoolean()
  resume?: boolean | null;
}

/** `summary.metrics` is an alias of `metrics`. */
@ReadOnlyMembersOf(() => ExperimentSummaryDto)
export class SummaryPatchDto {
  @IsOptional()
  @IsJsonObject({ maxBytes: METADATA_MAX_BYTES, description: METRICS_DESCRIPTION })
  metrics?: object | null;
}

/**
 * A merge patch (RFC 7396). `config` and `context_manifest` are replaced as a whole. A status other than `running`
 * finalizes the experiment.
 */
@ValuesCheckedLater()
@ReadOnlyMembersOf(() => ExperimentDto)
export class PatchExperimentDto extends ExperimentMembersDto {
  /** Must be the current workspace, because an experiment cannot be moved (422). */
  @IsOptionalText()
  workspace_id?: string;

  /** Immutable (422 for another value). */
  @IsOptionalText()
  experiment_id?: string;

  @IsOptionalText(255)
  name?: string;

  @IsOptionalText(255)
  experiment_name?: string;

  @IsOptional()
  @IsJsonObject({ nullable: true })
  config?: object | null;

  /** Immutable (422 for another value). */
  @IsNullableText()
  dataset_id?: string | null;

  /** Immutable (422 for another value). */
  @IsOptional()
  @ApiProperty({ type: 'integer', format: 'int32', minimum: 1, nullable: true, required: false })
  @IsInt()
  dataset_version?: number | null;

  /** Immutable (422 for another value). */
  @IsOptional()
  @Nested(() => DatasetFilterDto)
  dataset_filter?: DatasetFilterDto | null;

  /** Immutable (422 for another value). */
  @IsOptional()
  @ApiProperty({ type: 'integer', format: 'int32', minimum: 1, nullable: true, required: false })
  @IsInt()
  trials?: number | null;

  /** Immutable (422 for another value). */
  @IsNullableText()
  run_key?: string | null;

  @IsOptional()
  @IsJsonObject({ nullable: true, description: 'Merged into the current metadata. Null clears it.' })
  metadata?: object | null;

  @IsOptional()
  @IsJsonObject({ maxBytes: METADATA_MAX_BYTES, nullable: true, description: METRICS_DESCRIPTION })
  metrics?: object | null;

  @IsOptional()
  @Nested(() => SummaryPatchDto)
  summary?: SummaryPatchDto | null;

  /** `completed` or `failed` finalizes the experiment and computes its summary. */
  @NotNull()
  @IsOneOf(EXPERIMENT_STATUSES, { required: false })
  experiment_status?: ExperimentStatus;

  @IsOptional()
  @IsJson({ required: false, description: 'Why the experiment failed.' })
  error?: unknown;
}

/** Mean and count of a scorer's scores that are not null. */
export class ScoreSummaryDto {
  mean!: number;
  @ApiProperty({ type: 'integer', minimum: 0 })
  count!: number;
}

export class ScorerReferenceDto {
  scorer_id!: string;
  @ApiProperty({ type: 'integer', minimum: 1 })
  scorer_version!: number;
}

/** Numbers of cases that a scorer covers. */
export class ScorerCoverageDto {
  /** Cases with a score. Each of the experiment's `trials` of a case needs a score or a deliberate null. */
  @ApiProperty({ type: 'integer', minimum: 0 })
  scored_count!: number;
  /** Cases with a deliberate null. Results with an error do not count. */
  @ApiProperty({ type: 'integer', minimum: 0 })
  null_count!: number;
}

/** How much of the dataset the results and their scores cover. */
export class CoverageDto {
  /** Number of cases in the dataset's snapshot or the pinned CSV version; null without a dataset. */
  @ApiProperty({ type: 'integer', minimum: 0, nullable: true })
  expected_case_count!: number | null;
  @ApiProperty({ type: 'integer', minimum: 0 })
  result_count!: number;
  /** Number of results with an error. */
  @ApiProperty({ type: 'integer', minimum: 0 })
  error_count!: number;
  /** By scorer name. Counts only expected cases, or all cases without a dataset. */
  @ApiProperty({ type: 'object', additionalProperties: { $ref: '#/components/schemas/ScorerCoverageDto' } })
  scorers!: Record<string, ScorerCoverageDto>;
}

export class ExperimentSummaryDto {
  @ApiProperty({ type: 'object', additionalProperties: { $ref: '#/components/schemas/ScoreSummaryDto' } })
  scores?: Record<string, ScoreSummaryDto>;
  @ApiProperty({
    type: 'object',
    additionalProperties: { $ref: '#/components/schemas/ScorerReferenceDto' },
  })
  scorers?: Record<string, ScorerReferenceDto>;
  @AnyJsonObject({ description: METRICS_DESCRIPTION, nullable: true })
  metrics!: object | null;
  coverage?: CoverageDto;
  /** Whether the experiment has more than the 10,000 results that a summary covers. */
  is_truncated?: boolean;
  /** Whether there are more than 1,000 scorers. A summary holds the first 1,000 by name. */
  is_scorers_truncated?: boolean;
}

export class SnapshotRecordDto {
  dataset_record_id!: string;
  @ApiProperty({ type: 'integer', minimum: 1 })
  version!: number;
}

export class DatasetSnapshotDto {
  dataset_id!: string;
  @ApiProperty({ enum: ['records', 'csv'] })
  source!: 'records' | 'csv';
  @ApiProperty({ type: 'integer', minimum: 1, nullable: true })
  dataset_version!: number | null;
  /** Number of cases: records, or rows of the CSV version. */
  @ApiProperty({ type: 'integer', minimum: 0 })
  record_count!: number;
  /** SHA-256 in hexadecimal: of the canonical JSON (RFC 8785) of `records`, or of the bytes of the CSV version. */
  sha256!: string;
  /** Present if the dataset or the CSV version was deleted, or a record that was in the dataset when the experiment was created. */
  @ApiProperty({ type: 'boolean', enum: [true], required: false })
  erased?: true;
  /** The records at the time the experiment was created, empty for a CSV version. Omitted in lists. */
  @ApiProperty({ type: [SnapshotRecordDto], required: false })
  records?: unknown;
}

/** One run of a subject over cases. */
export class ExperimentDto extends StampsDto {
  experiment_id!: string;
  workspace_id!: string;
  name!: string;
  experiment_name!: string;
  description!: string | null;
  @AnyJsonObject()
  config!: object;
  dataset_id!: string | null;
  @ApiProperty({ type: 'integer', minimum: 1, nullable: true })
  dataset_version!: number | null;
  /** Whether the dataset, or the CSV version that the experiment pins, was deleted. */
  dataset_erased!: boolean;
  baseline_experiment_id!: string | null;
  /** Whether the baseline was deleted. */
  baseline_erased!: boolean;
  @ApiProperty({ enum: SUBJECT_KINDS, nullable: true, type: 'string' })
  subject_kind!: SubjectKind | null;
  subject_id!: string | null;
  @AnyJson()
  context_manifest!: unknown;
  @ApiProperty({ enum: EXPERIMENT_STATUSES })
  experiment_status!: ExperimentStatus;
  /** The part of the dataset that backs the experiment; null for all of it. */
  @ApiProperty({ type: () => DatasetFilterDto, nullable: true })
  dataset_filter!: unknown;
  /** Number of cases of the dataset that the experiment covers; null without a dataset. */
  @ApiProperty({ type: 'integer', minimum: 0, nullable: true })
  expected_case_count!: number | null;
  /** How often each case is run. */
  @ApiProperty({ type: 'integer', format: 'int32', minimum: 1, maximum: TRIALS_MAX })
  trials!: number;
  /** Number of results that complete the experiment: `expected_case_count` times `trials`. */
  @ApiProperty({ type: 'integer', minimum: 0, nullable: true })
  expected_result_count!: number | null;
  run_key!: string | null;
  /** Null until metrics are written or the experiment is finalized. */
  summary!: ExperimentSummaryDto | null;
  /**
   * Mean and count of the current scores of all results, by scorer name (the first 1,000), with those that were given after
   * the experiment was finalized. Lists omit it.
   */
  @ApiProperty({
    type: 'object',
    additionalProperties: { $ref: '#/components/schemas/ScoreSummaryDto' },
    required: false,
  } as object)
  current_scores?: Record<string, ScoreSummaryDto>;
  /** Number of the results' current scores that were given after the experiment was finalized. Lists omit it. */
  @ApiProperty({ type: 'integer', minimum: 0, required: false })
  late_count?: number;
  /** Null until the experiment is finalized, and for an experiment without a dataset. */
  dataset_snapshot!: DatasetSnapshotDto | null;
  @AnyJson()
  error!: unknown;
  tags!: string[];
  @AnyJsonObject()
  metadata!: object;
  finalized_at!: Date | null;
}

export class ExperimentPageDto extends PageOf(ExperimentDto) {}

/** Returns the view of an experiment. The rows of a list lack the records of their snapshots. */
export const toExperimentDto = viewOf(ExperimentDto, (row: ExperimentEntity) => ({
  expected_result_count: row.expected_case_count && row.expected_case_count * row.trials,
  summary: summaryOf(row),
  dataset_snapshot: snapshotOf(row),
}));

function summaryOf({ summary, metrics }: ExperimentEntity): ExperimentSummaryDto | null {
  if (!summary && !metrics) return null;
  return { ...(summary?.parse() as object | undefined), metrics };
}

function snapshotOf(row: ExperimentEntity): DatasetSnapshotDto | null {
  const { dataset_snapshot, snapshot_records, dataset_erased, records_erased } = row;
  if (!dataset_snapshot) return null;
  const stored = dataset_snapshot.parse() as Omit<DatasetSnapshotDto, 'erased'>;
  const snapshot = { ...stored, ...((dataset_erased || records_erased) && { erased: true as const }) };
  return snapshot_records ? { ...snapshot, records: snapshot_records } : snapshot;
}
