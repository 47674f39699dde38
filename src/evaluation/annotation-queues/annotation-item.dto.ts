import { ApiProperty, PickType } from '@nestjs/swagger';
import { ArrayMaxSize, ArrayMinSize, IsArray, IsOptional, IsString } from 'class-validator';
import { applyDecorators } from '@nestjs/common';
import { AnyJson, AnyJsonObject, IsOneOf, Nested, viewOf, IsNullableText, IsText } from '#platform/http';
import { OrderedListQueryDto, PageOf } from '#platform/paging';
import type { HumanDefinition, PinnedScorerRow } from '../scorers';
import { CreateScoreDto } from '../scores';
import {
  type AnnotatorRow,
  ITEM_STATUSES,
  type ItemStatus,
  type ListedItemRow,
  type Outcome,
  OUTCOMES,
} from './annotation-item.entity';
import type { QueueProgressDto } from './annotation-queue.dto';

const AUTHOR_MAX = 255;
const REASON_MAX = 2_000;
const SCORES_MAX = 10;

const IsAuthor = () =>
  applyDecorators(
    IsNullableText(AUTHOR_MAX),
    ApiProperty({
      description:
        'The person who works: by default the caller, whose own id is accepted too. A service account with the role `admin` can send names of people, each of whom counts as a separate person; for all others, another name is 403.',
    }),
  );

/** A request for the next item. */
export class ClaimItemDto {
  @IsAuthor()
  author?: string | null;
}

/** The answer to one scorer: a `score`, a `label` or `answers`, whichever the form of its output asks for. */
export class ItemScoreDto extends PickType(CreateScoreDto, ['score', 'label', 'answers', 'comment']) {
  /** A scorer of the queue. */
  @IsString()
  scorer_id!: string;
}

/** A person's answers to all scorers of the queue. */
export class ScoreItemDto {
  @ApiProperty({ type: [ItemScoreDto], minItems: 1, maxItems: SCORES_MAX })
  @IsArray()
  @ArrayMinSize(1)
  @ArrayMaxSize(SCORES_MAX)
  @Nested(() => ItemScoreDto)
  scores!: ItemScoreDto[];

  @IsAuthor()
  author?: string | null;
}

/** A request to skip an item. */
export class SkipItemDto {
  /** Why you skip the item. The list of items shows the reason. */
  @IsText(REASON_MAX)
  reason!: string;

  @IsAuthor()
  author?: string | null;
}

export class AnnotationItemListQueryDto extends OrderedListQueryDto {
  @IsOptional()
  @IsOneOf(ITEM_STATUSES, { required: false })
  item_status?: ItemStatus;
}

export class AnnotatorListQueryDto extends OrderedListQueryDto {}

/** One score of an answer, or its latest correction. `GET /eval/v1/scores/{score_id}` returns the full score. */
export class AnsweredScoreDto {
  scorer_id!: string;
  score_id!: string;
  score!: number | null;
  label!: string | null;
}

/** What one person did with an item. */
export class ItemAnswerDto {
  @ApiProperty({ enum: [...OUTCOMES] })
  outcome!: Outcome;
  /** Why the person skipped the item. */
  reason!: string | null;
  scores!: AnsweredScoreDto[];
  author!: string | null;
  created_at!: Date;
  created_by!: string;
}

/** What is to be scored. */
class ItemTargetDto {
  item_id!: string;
  trace_id!: string | null;
  session_id!: string | null;
  /** Set if the item is a result of an experiment. */
  experiment_id!: string | null;
  result_id!: string | null;
  case_id!: string | null;
}

/** A trace or a result of a queue. */
export class AnnotationItemDto extends ItemTargetDto {
  queue_id!: string;
  workspace_id!: string;
  @ApiProperty({ enum: [...ITEM_STATUSES] })
  item_status!: ItemStatus;
  /** Number of people who have scored it. */
  @ApiProperty({ type: 'integer', minimum: 0 })
  scored_count!: number;
  /** When the last claim ends. Null if nobody has claimed the item. */
  claimed_until!: Date | null;
  answers!: ItemAnswerDto[];
  completed_at!: Date | null;
  created_at!: Date;
  updated_at!: Date;
}

export class AnnotationItemPageDto extends PageOf(AnnotationItemDto) {}

export const toAnnotationItemDto = viewOf(AnnotationItemDto, (row: ListedItemRow) => ({
  answers: row.answers as unknown as ItemAnswerDto[],
}));

/** A person who works on a queue. */
export class AnnotatorDto {
  /** The account. */
  principal_id!: string;
  author!: string | null;
  @ApiProperty({ type: 'integer', minimum: 0 })
  scored_count!: number;
  /** Items that the person skipped and has not scored since. */
  @ApiProperty({ type: 'integer', minimum: 0 })
  skipped_count!: number;
  created_at!: Date;
  last_active_at!: Date;
}

export class AnnotatorPageDto extends PageOf(AnnotatorDto) {}

export const toAnnotatorDto = viewOf(AnnotatorDto, (row: AnnotatorRow) => ({ author: row.author || null }));

/** A scorer of the queue, as a question to the annotator. */
export class QueueScorerDto {
  scorer_id!: string;
  @ApiProperty({ type: 'integer', minimum: 1 })
  scorer_version!: number;
  name!: string;
  description!: string | null;
  /** Instructions for the people who score. */
  rubric!: string;
  /** The form of the answer, as in the scorer's definition. */
  @AnyJsonObject()
  output!: object;
}

export const toQueueScorerDto = viewOf(QueueScorerDto, (row: PinnedScorerRow) => {
  const { rubric, output } = row.definition.parse() as HumanDefinition;
  return { rubric, output };
});

/** A claimed item and its content, without anyone's scores. */
export class ClaimedItemDto extends ItemTargetDto {
  /** When the claim ends. Until then, nobody else can take the item. */
  claimed_until!: Date;
  /** The input of the result or, for an item that is a trace, of the trace, as scorers see it. */
  @AnyJson()
  input!: unknown;
  @AnyJson()
  output!: unknown;
  /** Null unless the item is a result that has an expected value. */
  @AnyJson()
  expected!: unknown;
  /** Why the content cannot be shown. Skip such an item. */
  content_error!: string | null;
}

/** Why there is no item for a person. */
export const NO_ITEM_REASONS = ['completed', 'done', 'claimed'] as const;
export type NoItemReason = (typeof NO_ITEM_REASONS)[number];

/** The next item for a person, or the reason why the person gets no item. */
export class ClaimResponseDto {
  /** Null if there is nothing to do for this person now. */
  item!: ClaimedItemDto | null;
  /**
   * Why there is no item: `completed` (all items are completed), `done` (the person has scored or skipped all remaining
   * items) or `claimed` (other people have claimed the remaining items; retry at `retry_at`). Null with an item.
   */
  @ApiProperty({ enum: [...NO_ITEM_REASONS], nullable: true })
  reason!: NoItemReason | null;
  /** When the first of the other people's claims ends. Null unless the reason is `claimed`. */
  retry_at!: Date | null;
  scorers!: QueueScorerDto[];
  progress!: QueueProgressDto;
}

/** The outcome of scoring or skipping an item. */
export class ItemOutcomeDto {
  item_id!: string;
  @ApiProperty({ enum: [...OUTCOMES] })
  outcome!: Outcome;
  /** Whether as many people as `scores_per_item` have scored the item. */
  is_completed!: boolean;
  scores!: AnsweredScoreDto[];
}
