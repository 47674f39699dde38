import { ApiExtraModels, ApiProperty, type ApiPropertyOptions, getSchemaPath } from '@nestjs/swagger';
import {
  DEFAULT_MEMORY_MB,
  DEFAULT_TIMEOUT_MS,
  MAX_CHECKS,
  MAX_MEMORY_MB,
  MAX_TIMEOUT_MS,
  MIN_MEMORY_MB,
} from '../engine/limits';
import { CHECK, CHECKS, type CheckDto } from './check.dto';
import { ANNOTATIONS_MAX, RUBRIC_MAX } from './human.definition';
import { MODEL_MAX, PROMPT_MAX, SAMPLES_MAX, TEMPERATURE_MAX } from './judge.definition';
import { ChoiceOutputDto, OUTPUT, type OutputDto, QuestionsOutputDto } from './output.dto';

/*
 * The forms of definitions, as they are documented. What is sent is held to them by `ScorerDefinitions`, and comes back
 * as it was sent; a test holds both to be the same.
 */

/** Of the kind `code`: JavaScript. */
export class ScriptDefinitionDto {
  @ApiProperty({ enum: ['javascript'], required: false, default: 'javascript' })
  language?: 'javascript';
  /** Defines `score({ input, output, expected, metadata, trace, session })`. At most 256 KiB in UTF-8. */
  @ApiProperty({ minLength: 1 })
  source!: string;
  @ApiProperty({
    type: 'integer',
    minimum: 1,
    maximum: MAX_TIMEOUT_MS,
    required: false,
    default: DEFAULT_TIMEOUT_MS,
  })
  timeout_ms?: number;
  /** Of the interpreter's heap. */
  @ApiProperty({
    type: 'integer',
    minimum: MIN_MEMORY_MB,
    maximum: MAX_MEMORY_MB,
    required: false,
    default: DEFAULT_MEMORY_MB,
  })
  memory_mb?: number;
}

/** Of the kind `code`: checks that need no code. It has no `source`. */
@ApiExtraModels(...CHECKS)
export class ChecksDefinitionDto {
  @ApiProperty({
    type: 'array',
    items: CHECK,
    minItems: 1,
    maxItems: MAX_CHECKS,
  } as unknown as ApiPropertyOptions)
  checks!: CheckDto[];
  /** How they make one score: 1 where `all` or `any` passed, else 0, or the share of those that did. */
  @ApiProperty({ enum: ['all', 'any', 'mean'], required: false, default: 'all' })
  aggregate?: 'all' | 'any' | 'mean';
}

class JudgeDefinitionDto {
  /** The service's own unless given. */
  @ApiProperty({ type: 'string', minLength: 1, maxLength: MODEL_MAX, nullable: true, required: false })
  model?: string | null;
  /** Whether the judge is to say why, before it answers. */
  @ApiProperty({ type: 'boolean', nullable: true, required: false, default: true })
  reasoning?: boolean | null;
  /** How often it is asked. */
  @ApiProperty({
    type: 'integer',
    minimum: 1,
    maximum: SAMPLES_MAX,
    nullable: true,
    required: false,
    default: 1,
  })
  samples?: number | null;
  /** 0 for one sample, and the model's own for several, unless given. */
  @ApiProperty({ type: 'number', minimum: 0, maximum: TEMPERATURE_MAX, nullable: true, required: false })
  temperature?: number | null;
}

/** Of the kind `llm_judge`: a question to a language model. */
@ApiExtraModels(QuestionsOutputDto)
export class LlmDefinitionDto extends JudgeDefinitionDto {
  @ApiProperty({ enum: ['llm', null], type: 'string', nullable: true, required: false, default: 'llm' })
  backend?: 'llm' | null;
  /**
   * Mustache, with the variables `input`, `output`, `expected`, `metadata`, `trace` and `session`, and paths into them
   * (singular queries of RFC 9535). A session or a trace is a transcript; what is put in stands between delimiters, as
   * data. A name that is no variable is refused.
   */
  @ApiProperty({ minLength: 1, maxLength: PROMPT_MAX })
  prompt!: string;
  @ApiProperty(OUTPUT)
  output!: OutputDto;
}

/** Of the kind `llm_judge`: a classifier, which chooses. Without a prompt it is shown the output; it is asked once. */
export class ClassifierDefinitionDto extends JudgeDefinitionDto {
  @ApiProperty({ enum: ['classifier'] })
  backend!: 'classifier';
  @ApiProperty({ type: 'string', minLength: 1, maxLength: PROMPT_MAX, nullable: true, required: false })
  prompt?: string | null;
  output!: ChoiceOutputDto;
}

/** Of the kind `human`: a question to people. */
@ApiExtraModels(QuestionsOutputDto)
export class HumanDefinitionDto {
  /** What people are to look at. */
  @ApiProperty({ minLength: 1, maxLength: RUBRIC_MAX })
  rubric!: string;
  @ApiProperty(OUTPUT)
  output!: OutputDto;
  /** So many of them must have scored a result before what they say lands in it. */
  @ApiProperty({
    type: 'integer',
    minimum: 1,
    maximum: ANNOTATIONS_MAX,
    nullable: true,
    required: false,
    default: 1,
  })
  min_annotations?: number | null;
}

/** All forms of definitions. */
export const DEFINITIONS = [
  ScriptDefinitionDto,
  ChecksDefinitionDto,
  LlmDefinitionDto,
  ClassifierDefinitionDto,
  HumanDefinitionDto,
] as const;

/** OpenAPI of a member that is a definition; its class needs `DEFINITIONS` as extra models. */
export const DEFINITION = {
  anyOf: DEFINITIONS.map((one) => ({ $ref: getSchemaPath(one) })),
  description:
    'How it scores, by its kind. `code`: ScriptDefinitionDto or ChecksDefinitionDto; `llm_judge`: LlmDefinitionDto or ' +
    'ClassifierDefinitionDto; `human`: HumanDefinitionDto. A member that its form does not name is kept and ignored, as ' +
    'in all bodies: a misspelt one is none.',
};
