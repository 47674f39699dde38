import { ApiProperty } from '@nestjs/swagger';
import { IsBoolean, IsInt, IsOptional, IsString, Length, Max, MaxLength, Min } from 'class-validator';
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
} from '#platform/http';
import { PageMetaDto } from '#platform/paging';
import {
  EXPERIMENT_STATUSES,
  type ExperimentStatus,
  SUBJECT_KINDS,
  type SubjectKind,
} from './experiment.entity';

const METRICS_DESCRIPTION =
  'Counts and duration as the client takes them: `cases`, `successful_cases`, `failed_cases`, `duration_ms`, in snake_case or camelCase, kept as spelt.';

@ValuesCheckedLater()
export class CreateExperimentDto {
  /** The workspace that X-Service-Workspace-Id names. */
  @IsString()
  workspace_id!: string;

  /** The stable name of the evaluation; need not be unique. */
  @IsString()
  @Length(1, 255)
  name!: string;

  /** The name of this run of it; the evaluation's by default. */
  @IsOptional()
  @IsString()
  @Length(1, 255)
  experiment_name?: string | null;

  @IsOptional()
  @IsString()
  @MaxLength(10_000)
  description?: string | null;

  @IsOptional()
  @IsJsonObject({ description: 'Free-form; found again by `config=key:value`.' })
  config?: object | null;

  @IsOptional()
  @IsString()
  dataset_id?: string | null;

  /** Pins a CSV version of the dataset; without it the dataset means its live records. */
  @IsOptional()
  @ApiProperty({ type: 'integer', format: 'int32', minimum: 1, nullable: true, required: false })
  @IsInt()
  @Min(1)
  @Max(2_147_483_647)
  dataset_version?: number | null;

  @IsOptional()
  @IsString()
  baseline_experiment_id?: string | null;

  /** Set together with `subject_id`, or neither. */
  @IsOptional()
  @IsOneOf(SUBJECT_KINDS, { required: false, nullable: true })
  subject_kind?: SubjectKind | null;

  @IsOptional()
  @IsString()
  @Length(1, 255)
  subject_id?: string | null;

  @IsOptional()
  @IsJson({ required: false, description: 'A pinned description of the context that changed.' })
  context_manifest?: unknown;

  @IsOptional()
  @IsTags()
  tags?: string[] | null;

  @IsOptional()
  @IsJsonObject({ maxBytes: METADATA_MAX_BYTES, description: 'Free-form, at most 16 KiB as JSON.' })
  metadata?: object | null;

  /**
   * Answers a running experiment of the same name, experiment_name and dataset (200), where there is one, as it is: the
   * other members given here do not change it.
   */
  @IsOptional()
  @IsBoolean()
  resume?: boolean | null;
}

/** `summary.metrics` is another spelling of `metrics`. */
export class SummaryPatchDto {
  @IsOptional()
  @IsJsonObject({ maxBytes: METADATA_MAX_BYTES, description: METRICS_DESCRIPTION })
  metrics?: object | null;
}

/** A merge patch (RFC 7396); `config` and `context_manifest` are replaced whole. A status other than `running` finalizes. */
@ValuesCheckedLater()
export class PatchExperimentDto {
  /** Only the present one: an experiment cannot be moved (422). */
  @NotNull()
  @IsString()
  workspace_id?: string;

  /** Only the present one (422 `immutable_field`). */
  @NotNull()
  @IsString()
  experiment_id?: string;

  @NotNull()
  @IsString()
  @Length(1, 255)
  name?: string;

  @NotNull()
  @IsString()
  @Length(1, 255)
  experiment_name?: string;

  @IsOptional()
  @IsString()
  @MaxLength(10_000)
  description?: string | null;

  @IsOptional()
  @IsJsonObject({ nullable: true })
  config?: object | null;

  /** Only the present one (422 `immutable_field`). */
  @IsOptional()
  @IsString()
  dataset_id?: string | null;

  /** Only the present one (422 `immutable_field`). */
  @IsOptional()
  @ApiProperty({ type: 'integer', format: 'int32', minimum: 1, nullable: true, required: false })
  @IsInt()
  dataset_version?: number | null;

  @IsOptional()
  @IsString()
  baseline_experiment_id?: string | null;

  @IsOptional()
  @IsOneOf(SUBJECT_KINDS, { required: false, nullable: true })
  subject_kind?: SubjectKind | null;

  @IsOptional()
  @IsString()
  @Length(1, 255)
  subject_id?: string | null;

  @IsOptional()
  @IsJson({ required: false })
  context_manifest?: unknown;

  @IsOptional()
  @IsTags()
  tags?: string[] | null;

  @IsOptional()
  @IsJsonObject({ nullable: true, description: 'Merged into the present metadata; null empties it.' })
  metadata?: object | null;

  @IsOptional()
  @IsJsonObject({ maxBytes: METADATA_MAX_BYTES, nullable: true, description: METRICS_DESCRIPTION })
  metrics?: object | null;

  @IsOptional()
  @Nested(() => SummaryPatchDto)
  summary?: SummaryPatchDto | null;

  /** `completed` or `failed` freezes the experiment and computes its summary. */
  @NotNull()
  @IsOneOf(EXPERIMENT_STATUSES, { required: false })
  experiment_status?: ExperimentStatus;

  @IsOptional()
  @IsJson({ required: false, description: 'Why the experiment failed.' })
  error?: unknown;
}

/** Mean of a scorer's scores that are not null, and their count. */
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
  /** There are more than the 10,000 results that are folded in. */
  is_truncated?: boolean;
  /** There are more than the 1,000 scorers that are told, the first by name. */
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
  /** Records, or rows of the CSV version. */
  @ApiProperty({ type: 'integer', minimum: 0 })
  record_count!: number;
  /** SHA-256 in hexadecimal: of the canonical JSON (RFC 8785) of `records`, or of the bytes of the CSV version. */
  sha256!: string;
  /** The records as they stood when the experiment was created; none of a CSV version. Left out in lists. */
  @ApiProperty({ type: [SnapshotRecordDto], required: false })
  records?: unknown;
}

/** One run of a subject over cases. */
export class ExperimentDto {
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
  baseline_experiment_id!: string | null;
  @ApiProperty({ enum: SUBJECT_KINDS, nullable: true, type: 'string' })
  subject_kind!: SubjectKind | null;
  subject_id!: string | null;
  @AnyJson()
  context_manifest!: unknown;
  @ApiProperty({ enum: EXPERIMENT_STATUSES })
  experiment_status!: ExperimentStatus;
  /** Null until metrics are written or the experiment is finalized. */
  summary!: ExperimentSummaryDto | null;
  /** Null until the experiment is finalized, and where it has no dataset. */
  dataset_snapshot!: DatasetSnapshotDto | null;
  @AnyJson()
  error!: unknown;
  tags!: string[];
  @AnyJsonObject()
  metadata!: object;
  finalized_at!: Date | null;
  created_at!: Date;
  updated_at!: Date;
  created_by!: string;
  archived_at!: Date | null;
}

export class ExperimentPageDto {
  items!: ExperimentDto[];
  page!: PageMetaDto;
}
