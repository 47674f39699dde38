import { ApiProperty } from '@nestjs/swagger';
import type { MeasureDto } from '../scorers';

/** Agreement of the annotators of a queue on the answers to one scorer. */
export class QueueScorerAgreementDto {
  scorer_id!: string;
  @ApiProperty({ type: 'integer', minimum: 1 })
  scorer_version!: number;
  name!: string;
  /** Number of items that at least two people have scored. Only these are measured. */
  @ApiProperty({ type: 'integer', minimum: 0 })
  units!: number;
  /** Number of these items on which no answer has a majority of the people. 0 without categories. */
  @ApiProperty({ type: 'integer', minimum: 0 })
  tie_count!: number;
  /**
   * Share of pairs of people who agree, averaged over the items. This and the nominal alpha are null if there are no such
   * items, or if the scores have more than 20 distinct values and therefore no categories.
   */
  observed_agreement!: MeasureDto | null;
  /** Krippendorff's alpha for categories: labels, else scores. */
  krippendorffs_alpha_nominal!: MeasureDto | null;
  /** Krippendorff's alpha for scores, with squared distances. */
  krippendorffs_alpha_interval!: MeasureDto | null;
}

/** Agreement of the annotators of a queue, measured on their answers, including later corrections. */
export class QueueAgreementDto {
  queue_id!: string;
  scorers!: QueueScorerAgreementDto[];
  /** Whether the queue has more than 100,000 scores. Only the scores of its first items are then measured. */
  is_truncated!: boolean;
}
