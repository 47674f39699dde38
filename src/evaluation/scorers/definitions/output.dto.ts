import { ApiExtraModels, ApiProperty, type ApiPropertyOptions, getSchemaPath } from '@nestjs/swagger';
import { CHOICES_MAX, QUESTIONS_MAX, TEXT_MAX, VALUE_MAX } from './output.definition';

/*
 * The forms of outputs, as they are documented. What is sent is held to them by `readOutput`, and comes back as it was
 * sent; a test holds both to be the same.
 */

export class ChoiceDto {
  /** Unique among the choices. */
  @ApiProperty({ minLength: 1, maxLength: VALUE_MAX })
  value!: string;
  /** What it counts. */
  score!: number;
  @ApiProperty({ type: 'string', maxLength: TEXT_MAX, nullable: true, required: false })
  description?: string | null;
}

/** One of several values. Its score is that of the choice. */
export class ChoiceOutputDto {
  @ApiProperty({ enum: ['choice'] })
  type!: 'choice';
  @ApiProperty({ type: [ChoiceDto], minItems: 2, maxItems: CHOICES_MAX })
  choices!: ChoiceDto[];
}

/** True or false. Its score is 1 or 0. */
export class BooleanOutputDto {
  @ApiProperty({ enum: ['boolean'] })
  type!: 'boolean';
}

/** A number from `min` to `max`, which is its score. */
export class NumericOutputDto {
  @ApiProperty({ enum: ['numeric'] })
  type!: 'numeric';
  min!: number;
  /** Greater than `min`. */
  max!: number;
}

type OutputClass = new () => object;

/** One of some forms, told apart by `type`. */
const oneOfTypes = (types: Record<string, OutputClass>): ApiPropertyOptions => {
  const refs = Object.entries(types).map(([type, of]) => [type, getSchemaPath(of)] as const);
  return {
    oneOf: refs.map(([, $ref]) => ({ $ref })),
    discriminator: { propertyName: 'type', mapping: Object.fromEntries(refs) },
  };
};

const SINGLE = { choice: ChoiceOutputDto, boolean: BooleanOutputDto, numeric: NumericOutputDto };

@ApiExtraModels(ChoiceOutputDto, BooleanOutputDto, NumericOutputDto)
export class QuestionDto {
  /** Unique among the questions; the member of `answers` that answers it. */
  @ApiProperty({ minLength: 1, maxLength: VALUE_MAX })
  key!: string;
  @ApiProperty({ minLength: 1, maxLength: TEXT_MAX })
  question!: string;
  @ApiProperty(oneOfTypes(SINGLE))
  output!: ChoiceOutputDto | BooleanOutputDto | NumericOutputDto;
}

/** Several questions, each with an output of its own. Its score is the mean of theirs. */
export class QuestionsOutputDto {
  @ApiProperty({ enum: ['questions'] })
  type!: 'questions';
  @ApiProperty({ type: [QuestionDto], minItems: 1, maxItems: QUESTIONS_MAX })
  questions!: QuestionDto[];
}

export type OutputDto = ChoiceOutputDto | BooleanOutputDto | NumericOutputDto | QuestionsOutputDto;

/** OpenAPI of a member that is an output of any type; its class needs `QuestionsOutputDto` as an extra model. */
export const OUTPUT = oneOfTypes({ ...SINGLE, questions: QuestionsOutputDto });
