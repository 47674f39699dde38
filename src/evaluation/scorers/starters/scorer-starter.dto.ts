import { ApiProperty } from '@nestjs/swagger';
import { IsOptional, IsString, Length } from 'class-validator';
import { AnyJson, AnyJsonObject, IsOneOf } from '#platform/http';
import { ListQueryDto, PageMetaDto } from '#platform/paging';
import { type Grain, GRAINS, SCORER_KINDS, type ScorerKind } from '../scorer.entity';

/** Starters stand in an order of their own, by what they are about; `sort=-created_at` turns it around. */
export class ScorerStarterListQueryDto extends ListQueryDto {
  @IsOptional()
  @IsOneOf(SCORER_KINDS, { required: false })
  scorer_kind?: ScorerKind;

  @IsOptional()
  @IsOneOf(GRAINS, { required: false })
  grain?: Grain;

  /** Starters with this tag. */
  @IsOptional()
  @IsString()
  @Length(1, 255)
  tag?: string;
}

/** What a scorer sees of an example. */
export class StarterSubjectDto {
  @AnyJson()
  input!: unknown;
  @AnyJson()
  output!: unknown;
  @AnyJson()
  expected!: unknown;
  @AnyJson()
  metadata!: unknown;
  @AnyJson()
  trace!: unknown;
  @AnyJson()
  session!: unknown;
}

export class StarterResultDto {
  score!: number;
}

export class StarterExampleDto {
  subject!: StarterSubjectDto;
  /** What the judge, or the person, answers; absent where the service computes the score by itself. */
  @AnyJsonObject({ required: false })
  answer?: object;
  result!: StarterResultDto;
}

/** A ready definition of a scorer: `POST /eval/v1/scorers` takes its members as they are. */
export class ScorerStarterDto {
  /** Names the starter for good. */
  starter_id!: string;
  name!: string;
  description!: string;
  @ApiProperty({ enum: [...SCORER_KINDS] })
  scorer_kind!: ScorerKind;
  @ApiProperty({ enum: [...GRAINS] })
  grain!: Grain;
  /** In one of the forms that `CreateScorerDto` takes. */
  @AnyJsonObject()
  definition!: object;
  tags!: string[];
  /** Of what is as it should be. */
  example!: StarterExampleDto;
  /** Of what is not. */
  failing_example!: StarterExampleDto;
}

export class ScorerStarterPageDto {
  items!: ScorerStarterDto[];
  page!: PageMetaDto;
}
