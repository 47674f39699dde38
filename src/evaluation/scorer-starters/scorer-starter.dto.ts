import { ApiProperty, OmitType } from '@nestjs/swagger';
import { IsOptional } from 'class-validator';
import { AnyJson, AnyJsonObject, IsOneOf, viewOf, IsOptionalText } from '#platform/http';
import { ListQueryDto, PageOf, SortedBy } from '#platform/paging';
import { type Grain, GRAINS, SCORER_KINDS, type ScorerKind } from '../scorers';
import type { ScorerStarter, StarterExample } from './starter';

/** Starters are listed by topic. `sort=-created_at` reverses the order. */
@SortedBy('created_at')
export class ScorerStarterListQueryDto extends OmitType(ListQueryDto, ['since', 'until']) {
  @IsOptional()
  @IsOneOf(SCORER_KINDS, { required: false })
  scorer_kind?: ScorerKind;

  @IsOptional()
  @IsOneOf(GRAINS, { required: false })
  grain?: Grain;

  /** Starters with this tag. */
  @IsOptionalText(255)
  tag?: string;
}

/** The subject of an example, as a scorer sees it. */
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
  /** The answer of the judge, or the members of a person's score. Absent if the service computes the score itself. */
  @AnyJsonObject({ required: false })
  answer?: object;
  result!: StarterResultDto;
}

/** A ready-made scorer. Create it by sending its members to `POST /eval/v1/scorers`. */
export class ScorerStarterDto {
  /** The permanent name of the starter. */
  starter_id!: string;
  name!: string;
  description!: string;
  @ApiProperty({ enum: [...SCORER_KINDS] })
  scorer_kind!: ScorerKind;
  @ApiProperty({ enum: [...GRAINS] })
  grain!: Grain;
  /** A definition that `POST /eval/v1/scorers` accepts. */
  @AnyJsonObject()
  definition!: object;
  tags!: string[];
  /** An example that passes. */
  example!: StarterExampleDto;
  /** An example that fails. */
  failing_example!: StarterExampleDto;
}

export class ScorerStarterPageDto extends PageOf(ScorerStarterDto) {}

export const toScorerStarterDto = viewOf(ScorerStarterDto, (starter: ScorerStarter) => ({
  example: toExampleDto(starter.passing),
  failing_example: toExampleDto(starter.failing),
}));

const toExampleDto = ({ subject, answer, score }: StarterExample): StarterExampleDto => ({
  subject: {
    input: subject.input ?? null,
    output: subject.output ?? null,
    expected: subject.expected ?? null,
    metadata: subject.metadata ?? null,
    trace: subject.trace ?? null,
    session: subject.session ?? null,
  },
  ...(answer && { answer }),
  result: { score },
});
