import { ApiProperty } from '@nestjs/swagger';
import { IsInt, IsOptional, IsString, Max, Min } from 'class-validator';
import { ToInteger } from '#platform/paging';
import { IntervalDto } from '../comparison/comparison.dto';
import { SCORER_KINDS, type ScorerKind } from '../scorers/scorer.entity';

export class AgreementQueryDto {
  /** The scorer that is taken for right, such as one of people. */
  @IsString()
  reference_scorer_id!: string;

  /** Only scores by this version of the scorer; by any unless given. */
  @ApiProperty({ required: false, type: 'integer', format: 'int32', minimum: 1 })
  @IsOptional()
  @IsInt()
  @Min(1)
  @Max(2_147_483_647)
  @ToInteger()
  scorer_version?: number;

  /** Only scores by this version of the reference; by any unless given. */
  @ApiProperty({ required: false, type: 'integer', format: 'int32', minimum: 1 })
  @IsOptional()
  @IsInt()
  @Min(1)
  @Max(2_147_483_647)
  @ToInteger()
  reference_scorer_version?: number;

  /** Only what the results of this experiment are of: their traces, sessions, or themselves. */
  @IsOptional()
  @IsString()
  experiment_id?: string;
}

export class AgreeingScorerDto {
  scorer_id!: string;
  name!: string;
  @ApiProperty({ enum: SCORER_KINDS })
  scorer_kind!: ScorerKind;
}

export class MeasureDto {
  /** Units that it is of. */
  @ApiProperty({ type: 'integer', minimum: 0 })
  units!: number;
  /** Null where it has none: kappa and alpha where nothing varies. */
  @ApiProperty({ type: 'number', nullable: true })
  value!: number | null;
  /** 95 %, by bootstrap over units (BCa). Null for fewer than two units. */
  confidence_interval!: IntervalDto | null;
}

const CATEGORY = { oneOf: [{ type: 'string' }, { type: 'number' }] };

export class ConfusionDto {
  @ApiProperty({
    enum: ['label', 'score'],
    description: 'Whether categories are labels, or the scores themselves.',
  })
  basis!: 'label' | 'score';
  @ApiProperty({ type: 'array', items: CATEGORY } as object)
  categories!: (string | number)[];
  /**
   * What each category counts, which weighted kappa has its distances from: a score itself, a label what the choice of
   * this value scores. Null where a label is no choice of either scorer, or they score it differently.
   */
  @ApiProperty({ type: 'array', items: { type: 'number' }, nullable: true })
  category_scores!: number[] | null;
  /** A row for each category that the scorer said, in it a column for each that the reference said. */
  @ApiProperty({ type: 'array', items: { type: 'array', items: { type: 'integer', minimum: 0 } } } as object)
  counts!: number[][];
  @ApiProperty({ type: 'integer', minimum: 0 })
  units!: number;
}

/** How far a scorer agrees with another on what both scored. */
export class AgreementDto {
  scorer!: AgreeingScorerDto;
  reference!: AgreeingScorerDto;
  /** The version that was asked for: only its scores count. Null: those of any. */
  @ApiProperty({ type: 'integer', minimum: 1, nullable: true })
  scorer_version!: number | null;
  /** The same of the reference. */
  @ApiProperty({ type: 'integer', minimum: 1, nullable: true })
  reference_scorer_version!: number | null;
  experiment_id!: string | null;
  /** What both scored: traces, else sessions, else results; each once. */
  @ApiProperty({ type: 'integer', minimum: 0 })
  units!: number;
  /** There may be older scores than those that were looked at. */
  is_truncated!: boolean;
  /** Null where there are no categories: numbers of more than 20 values. So are the four measures that follow. */
  confusion!: ConfusionDto | null;
  /** The share of units of which both say the same. */
  observed_agreement!: MeasureDto | null;
  /** Cohen 1960: agreement beyond chance, from -1 to 1. */
  cohens_kappa!: MeasureDto | null;
  /** Cohen 1968: disagreements count by the squares of the distances of `category_scores`. Null without these. */
  weighted_kappa!: MeasureDto | null;
  /** Krippendorff's alpha of categories. */
  krippendorffs_alpha_nominal!: MeasureDto | null;
  /** Krippendorff's alpha of numbers, by the squares of their distances. */
  krippendorffs_alpha_interval!: MeasureDto | null;
  /** On the scale of the scores. */
  mean_absolute_error!: MeasureDto | null;
}
