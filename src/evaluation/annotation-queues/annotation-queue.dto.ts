import { ApiProperty } from '@nestjs/swagger';
import { ArrayMaxSize, ArrayMinSize, IsArray, IsObject, IsOptional, IsString, Length } from 'class-validator';
import { applyDecorators } from '@nestjs/common';
import {
  AnyJsonObject,
  Nested,
  NotNull,
  ReadOnlyMembersOf,
  ValuesCheckedLater,
  viewOf,
  IsImmutable,
  IsNullableText,
  IsNullableTime,
  IsWholeNumber,
  IsOptionalText,
} from '#platform/http';
import { NamedListQueryDto, PageOf } from '#platform/paging';
import { DescribedBodyDto, DescribedPatchDto, IsName, StampsDto } from '../../resources';
import { IsRuleFilters, type RuleFilterDto, IsTraceIds } from '../../telemetry';
import { type AnnotationQueueEntity, pinsOf } from './annotation-queue.entity';

/** Maximum number of items of a queue. */
export const ITEMS_MAX = 10_000;
const SCORERS_MAX = 10;
const SCORES_PER_ITEM_MAX = 10;
const ASSIGNEES_MAX = 100;
const ID_MAX = 255;

/** Selects the items of a queue: traces or results. Must have exactly one of `filters`, `experiment_id` and `trace_ids`. */
@ValuesCheckedLater()
export class AnnotationSourceDto {
  /** Selects the traces that meet all of these conditions. An empty list selects all traces. */
  @IsRuleFilters()
  filters?: RuleFilterDto[] | null;

  /** Selects the results of this experiment, with or without a trace. */
  @IsNullableText()
  experiment_id?: string | null;

  /** Selects these traces. People see their own input and output, even if a result names them. */
  @IsTraceIds({ minItems: 1, maxItems: ITEMS_MAX })
  trace_ids?: string[] | null;

  /** Selects only items that started at this time or later (RFC 3339). A result without a stored trace starts when it is created. */
  @IsNullableTime()
  since?: string | null;

  /** Selects only items that started before this time (RFC 3339). */
  @IsNullableTime()
  until?: string | null;

  /** Selects only the newest items. Without a limit, selecting more than 10,000 items returns 422. */
  @IsOptional()
  @IsWholeNumber({ minimum: 1, maximum: ITEMS_MAX, nullable: true, required: false })
  limit?: number | null;
}

const IsScorerIds = (required: boolean) =>
  applyDecorators(
    IsArray(),
    ArrayMinSize(1),
    ArrayMaxSize(SCORERS_MAX),
    IsString({ each: true }),
    ApiProperty({ type: [String], minItems: 1, maxItems: SCORERS_MAX, required }),
  );

const IsAssignees = (description: string) =>
  applyDecorators(
    IsOptional(),
    IsArray(),
    ArrayMinSize(1),
    ArrayMaxSize(ASSIGNEES_MAX),
    IsString({ each: true }),
    Length(1, ID_MAX, { each: true }),
    ApiProperty({
      type: 'array',
      items: { type: 'string', minLength: 1, maxLength: ID_MAX },
      minItems: 1,
      maxItems: ASSIGNEES_MAX,
      nullable: true,
      required: false,
      description,
    }),
  );

const IsScoresPerItem = (required: boolean) =>
  IsWholeNumber({ minimum: 1, maximum: SCORES_PER_ITEM_MAX, required });

/** A queue of traces or results that people score. Its items are selected once, when the queue is created. */
@ValuesCheckedLater()
@ReadOnlyMembersOf(() => AnnotationQueueDto)
export class CreateAnnotationQueueDto extends DescribedBodyDto {
  /** The workspace that X-Service-Workspace-Id names. */
  @IsString()
  workspace_id!: string;

  /** Unique among the workspace's queues that are not archived. */
  @IsName()
  name!: string;

  /** Scorers of kind `human`, whose current versions the queue pins. Every person answers all of them. */
  @IsScorerIds(true)
  scorer_ids!: string[];

  @IsObject()
  @Nested(() => AnnotationSourceDto)
  source!: AnnotationSourceDto;

  @IsAssignees('Ids of the users and service accounts who may work on the queue. Null: all annotators may.')
  assignees?: string[] | null;

  /** How many different people score each item. */
  @IsScoresPerItem(true)
  scores_per_item!: number;
}

/** A merge patch (RFC 7396). */
@ValuesCheckedLater()
@ReadOnlyMembersOf(() => AnnotationQueueDto)
export class PatchAnnotationQueueDto extends DescribedPatchDto {
  @IsImmutable('Must be the current workspace, because a queue cannot be moved (422).')
  workspace_id?: string;

  @IsImmutable()
  queue_id?: string;

  @NotNull()
  @IsName()
  name?: string;

  /** Immutable (422 for another value). */
  @NotNull()
  @IsScorerIds(false)
  scorer_ids?: string[];

  /** Immutable (422 for another value). */
  @NotNull()
  @Nested(() => AnnotationSourceDto)
  source?: AnnotationSourceDto;

  @IsAssignees('Replaces all assignees. Null: all annotators may work on the queue.')
  assignees?: string[] | null;

  /** Immutable (422 for another value). */
  @NotNull()
  @IsScoresPerItem(false)
  scores_per_item?: number;
}

export class AnnotationQueueListQueryDto extends NamedListQueryDto {
  /** The exact name. */
  @IsOptionalText(255, 0)
  name?: string;

  /** Words or word prefixes in the name or description. */
  @IsOptionalText(1000, 0)
  q?: string;
}

/** A version of a scorer. */
export class QueueScorerVersionDto {
  scorer_id!: string;
  @ApiProperty({ type: 'integer', minimum: 1 })
  scorer_version!: number;
  /** Whether the scorer was deleted. Nobody can then work on the queue. */
  erased!: boolean;
}

const COUNT = { type: 'integer', minimum: 0 } as const;

/** Progress of a queue. Items that are not completed, in progress or skipped are pending. */
export class QueueProgressDto {
  @ApiProperty(COUNT)
  item_count!: number;
  /** Items that as many people as `scores_per_item` have scored. */
  @ApiProperty(COUNT)
  completed_count!: number;
  /** Items that someone currently has a claim on. */
  @ApiProperty(COUNT)
  in_progress_count!: number;
  /** Items that someone has skipped and that are neither completed nor claimed now. They wait for another person. */
  @ApiProperty(COUNT)
  skipped_count!: number;
}

/**
 * A queue of traces or results that people score. Its ETag changes with its progress, but work on its items does not make an
 * `If-Match` stale.
 */
export class AnnotationQueueDto extends StampsDto implements QueueProgressDto {
  queue_id!: string;
  workspace_id!: string;
  name!: string;
  description!: string | null;
  scorer_ids!: string[];
  /** The pinned versions that everybody answers. New versions of a scorer do not affect the queue. */
  scorers!: QueueScorerVersionDto[];
  source!: AnnotationSourceDto;
  assignees!: string[] | null;
  @ApiProperty({ type: 'integer', minimum: 1, maximum: SCORES_PER_ITEM_MAX })
  scores_per_item!: number;
  @ApiProperty(COUNT)
  item_count!: number;
  /** Items that as many people as `scores_per_item` have scored. */
  @ApiProperty(COUNT)
  completed_count!: number;
  /** Items that someone currently has a claim on. */
  @ApiProperty(COUNT)
  in_progress_count!: number;
  /** Items that someone has skipped and that are neither completed nor claimed now. They wait for another person. */
  @ApiProperty(COUNT)
  skipped_count!: number;
  @AnyJsonObject()
  metadata!: object;
}

export class AnnotationQueuePageDto extends PageOf(AnnotationQueueDto) {}

/** Converts a row to a view without claims and deleted scorers, which the service adds. */
export const toAnnotationQueueDto = viewOf(AnnotationQueueDto, (row: AnnotationQueueEntity) => ({
  source: row.source as unknown as AnnotationSourceDto,
  scorers: pinsOf(row).map((pin) => ({ ...pin, erased: false })),
  in_progress_count: 0,
}));

/** Numbers of the currently claimed items of a queue: all of them, and those that somebody has skipped. */
export interface ClaimCounts {
  claimed_count: number;
  claimed_skipped_count: number;
}

/** Adds claims to the counts of a queue. Items count as skipped only while nobody has claimed them. */
export const withClaims = <Counts extends QueueProgressDto>(
  counts: Counts,
  { claimed_count, claimed_skipped_count }: ClaimCounts,
): Counts => ({
  ...counts,
  in_progress_count: claimed_count,
  skipped_count: counts.skipped_count - claimed_skipped_count,
});
