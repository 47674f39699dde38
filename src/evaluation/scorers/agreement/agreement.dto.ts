import { ApiProperty } from '@nestjs/swagger';
import { IsOptional, IsString } from 'class-validator';
import { viewOf, IsOptionalText, IsWholeNumber } from '#platform/http';
import { ToInteger } from '#platform/paging';
import type { IntervalDto } from '../../statistics';
import { SCORER_KINDS, type ScorerKind } from '../definitions/definition.forms';
import type { AgreementMeasures, Confusion, Measure } from '../../statistics';
import { ORDINAL_MAX } from '../../../resources';

export class AgreementQueryDto {
  /** The scorer to compare with, such as a human scorer. */
  @IsString()
  reference_scorer_id!: string;

  /** Counts only scores by this version of the scorer. By default, scores by any version. */
  @IsOptional()
  @ToInteger()
  @IsWholeNumber({ required: false, format: 'int32', minimum: 1, maximum: ORDINAL_MAX })
  scorer_version?: number;

  /** Counts only scores by this version of the reference. By default, scores by any version. */
  @IsOptional()
  @ToInteger()
  @IsWholeNumber({ required: false, format: 'int32', minimum: 1, maximum: ORDINAL_MAX })
  reference_scorer_version?: number;

  /** Counts only the units of this experiment's results: their traces, else their sessions, else the results themselves. */
  @IsOptionalText()
  experiment_id?: string;
}

export class AgreeingScorerDto {
  scorer_id!: string;
  name!: string;
  @ApiProperty({ enum: SCORER_KINDS })
  scorer_kind!: ScorerKind;
}

export class MeasureDto implements Measure {
  /** Number of units measured. */
  @ApiProperty({ type: 'integer', minimum: 0 })
  units!: number;
  /** Null if the measure is undefined, for example kappa and alpha without any variation. */
  @ApiProperty({ type: 'number', nullable: true })
  value!: number | null;
  /** 95% confidence interval, by bootstrap over units (BCa). Null for fewer than two units. */
  confidence_interval!: IntervalDto | null;
}

const CATEGORY = { oneOf: [{ type: 'string' }, { type: 'number' }] };

export class ConfusionDto implements Confusion {
  @ApiProperty({
    enum: ['label', 'score'],
    description: 'Whether the categories are labels or scores.',
  })
  basis!: 'label' | 'score';
  @ApiProperty({ type: 'array', items: CATEGORY } as object)
  categories!: (string | number)[];
  /**
   * The score of each category: the category itself, or the score of the choice with this label; weighted kappa takes its
   * distances from these. Null if a label is not a choice of either scorer, or if the scorers score it differently.
   */
  @ApiProperty({ type: 'array', items: { type: 'number' }, nullable: true })
  category_scores!: number[] | null;
  /** Counts of units, with a row per category of the scorer and a column per category of the reference. */
  @ApiProperty({ type: 'array', items: { type: 'array', items: { type: 'integer', minimum: 0 } } } as object)
  counts!: number[][];
  @ApiProperty({ type: 'integer', minimum: 0 })
  units!: number;
}

/** Agreement with one person. */
export class PersonAgreementDto {
  created_by!: string;
  /** Distinguishes the people behind one account. */
  author!: string | null;
  /** Number of units measured. */
  @ApiProperty({ type: 'integer', minimum: 0 })
  units!: number;
  /** Cohen's kappa of the person and the other scorer. Null if it is undefined. */
  cohens_kappa!: number | null;
}

/** Agreement of a scorer with a reference on the units that both scored. */
export class AgreementDto implements Omit<AgreementMeasures, 'people'> {
  scorer!: AgreeingScorerDto;
  reference!: AgreeingScorerDto;
  /** The requested version of the scorer; null for any version. */
  @ApiProperty({ type: 'integer', minimum: 1, nullable: true })
  scorer_version!: number | null;
  /** The requested version of the reference; null for any version. */
  @ApiProperty({ type: 'integer', minimum: 1, nullable: true })
  reference_scorer_version!: number | null;
  experiment_id!: string | null;
  /**
   * Number of units of which both scored the same target. A unit is a trace, else a session, else a result; its targets are
   * the trace or session itself and the results that name it.
   */
  @ApiProperty({ type: 'integer', minimum: 0 })
  units!: number;
  /** Whether older scores may exist that were not read. */
  is_truncated!: boolean;
  /**
   * Number of units on which no category has more than half of the people, which the confusion and the next four measures leave
   * out. 0 without categories.
   */
  @ApiProperty({ type: 'integer', minimum: 0 })
  tie_count!: number;
  /** Null, like the next four measures, if there are no categories: neither labels nor at most 20 distinct scores. */
  confusion!: ConfusionDto | null;
  /** Share of units on which both agree. */
  observed_agreement!: MeasureDto | null;
  /** Cohen 1960: agreement beyond chance, from -1 to 1. */
  cohens_kappa!: MeasureDto | null;
  /** Cohen 1968: weights disagreements by the squared distance of `category_scores`. Null without them. */
  weighted_kappa!: MeasureDto | null;
  /** Krippendorff's alpha for categories. */
  krippendorffs_alpha_nominal!: MeasureDto | null;
  /** Krippendorff's alpha for scores, with squared distances. */
  krippendorffs_alpha_interval!: MeasureDto | null;
  /** Mean absolute difference, on the scale of the scores. */
  mean_absolute_error!: MeasureDto | null;
  /** Mean of Cohen's kappa with each person, without those for whom it is undefined. Null if there are none. */
  mean_kappa!: number | null;
  /**
   * The at most 100 people with the most units, each compared with the scorer. People of the scorer are compared with the
   * reference if the reference has none.
   */
  people!: PersonAgreementDto[];
  /** Number of people, including those that `people` omits. */
  @ApiProperty({ type: 'integer', minimum: 0 })
  people_count!: number;
}

export const toScorer = viewOf(AgreeingScorerDto);
