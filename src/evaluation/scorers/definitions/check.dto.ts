import { ApiProperty, type ApiPropertyOptions, getSchemaPath } from '@nestjs/swagger';
import { AnyJson, AnyJsonObject } from '#platform/http';
import { MAX_PATTERN_LENGTH } from '#platform/linear-regexp';
import {
  MAX_COUNT,
  MAX_NAME_LENGTH,
  MAX_PATH_LENGTH,
  MAX_TOOL_NAME_LENGTH,
  MAX_TOOLS,
} from '../engine/definition/check.validator';

/*
 * The forms of checks, as they are documented; `validateCheck` holds what is sent to them. What they mean is told in
 * `check.types.ts`.
 */

const PATH = { minLength: 1, maxLength: MAX_PATH_LENGTH, required: false };
const TOOL = { type: 'string', minLength: 1, maxLength: MAX_TOOL_NAME_LENGTH } as const;
const TOOLS = { type: 'array', items: TOOL, minItems: 1, maxItems: MAX_TOOLS } as ApiPropertyOptions;
const COUNT = { type: 'integer', minimum: 0, maximum: MAX_COUNT } as const;

class AnyCheckDto {
  /** Unique among the checks; its type, numbered, unless given. */
  @ApiProperty({ minLength: 1, maxLength: MAX_NAME_LENGTH, required: false })
  name?: string;
  /** Turns passed and failed around. */
  negate?: boolean;
}

class ValueCheckDto extends AnyCheckDto {
  /** A singular query of RFC 9535 from a member of the subject, with or without `$.`. */
  @ApiProperty({ ...PATH, default: 'output' })
  path?: string;
}

class ComparingCheckDto extends ValueCheckDto {
  /** What is compared with. Not together with `expected_path`. */
  @AnyJson({ required: false })
  value?: unknown;
  /** Where that is in the subject, as `path`; without `value`, `expected`. */
  @ApiProperty(PATH)
  expected_path?: string;
  /** Whether upper and lower case differ. */
  @ApiProperty({ required: false, default: true })
  case_sensitive?: boolean;
}

/** Both are the same JSON value. */
export class EqualsCheckDto extends ComparingCheckDto {
  @ApiProperty({ enum: ['equals'] })
  type!: 'equals';
}

/** A text contains a text, a list an item, an object the members. */
export class ContainsCheckDto extends ComparingCheckDto {
  @ApiProperty({ enum: ['contains'] })
  type!: 'contains';
  /** Several in place of `value`. */
  @ApiProperty({ type: 'array', items: {}, minItems: 1, required: false } as ApiPropertyOptions)
  values?: unknown[];
  @ApiProperty({ enum: ['all', 'any'], required: false, default: 'all' })
  match?: 'all' | 'any';
}

/** `pattern` matches somewhere. */
export class RegexCheckDto extends ValueCheckDto {
  @ApiProperty({ enum: ['regex'] })
  type!: 'regex';
  /** JavaScript's syntax without lookaround and backreferences. */
  @ApiProperty({ maxLength: MAX_PATTERN_LENGTH })
  pattern!: string;
  /** Out of `i`, `m`, `s` and `u`. */
  flags?: string | null;
}

/** The value is valid under `schema`. */
export class JsonSchemaCheckDto extends ValueCheckDto {
  @ApiProperty({ enum: ['json_schema'] })
  type!: 'json_schema';
  /** JSON Schema 2020-12. */
  @ApiProperty({
    oneOf: [{ type: 'object', additionalProperties: true }, { type: 'boolean' }],
  } as ApiPropertyOptions)
  schema!: object | boolean;
  /** The value is a text that holds JSON. */
  @ApiProperty({ required: false, default: false })
  parse_json?: boolean;
}

/** Two texts are alike enough. */
export class LevenshteinCheckDto extends ComparingCheckDto {
  @ApiProperty({ enum: ['levenshtein'] })
  type!: 'levenshtein';
  /** Without one it is graded by its similarity. */
  @ApiProperty({ minimum: 0, maximum: 1, required: false })
  threshold?: number;
}

/** A number, or a text that is one, is within `min` and `max`, of which one may be left out. */
export class NumericRangeCheckDto extends ValueCheckDto {
  @ApiProperty({ enum: ['numeric_range'] })
  type!: 'numeric_range';
  min?: number;
  /** Not below `min`. */
  max?: number;
}

/** Each of `tool` or `tools`, of which one is given, was called `min` to `max` times. */
export class ToolCalledCheckDto extends AnyCheckDto {
  @ApiProperty({ enum: ['tool_called'] })
  type!: 'tool_called';
  @ApiProperty({ ...TOOL, required: false })
  tool?: string;
  @ApiProperty({ ...TOOLS, required: false } as ApiPropertyOptions)
  tools?: string[];
  @ApiProperty({ ...COUNT, required: false, default: 1 })
  min?: number;
  /** Not below `min`. */
  @ApiProperty({ ...COUNT, required: false })
  max?: number;
  /** Only calls with these count. */
  @AnyJsonObject({ required: false })
  arguments?: object;
}

/** `tools` were called in this order. */
export class ToolOrderCheckDto extends AnyCheckDto {
  @ApiProperty({ enum: ['tool_order'] })
  type!: 'tool_order';
  @ApiProperty(TOOLS)
  tools!: string[];
  @ApiProperty({ enum: ['subsequence', 'exact'], required: false, default: 'subsequence' })
  mode?: 'subsequence' | 'exact';
}

/** The trace has at most `max` calls of models and tools. */
export class MaxStepsCheckDto extends AnyCheckDto {
  @ApiProperty({ enum: ['max_steps'] })
  type!: 'max_steps';
  @ApiProperty(COUNT)
  max!: number;
  /** Only of these. */
  @ApiProperty({ enum: ['model', 'tool'], required: false })
  count?: 'model' | 'tool';
}

/** The trace took at most `max`. */
export class MaxDurationCheckDto extends AnyCheckDto {
  @ApiProperty({ enum: ['max_duration_ms'] })
  type!: 'max_duration_ms';
  @ApiProperty({ minimum: 0 })
  max!: number;
}

/** The trace cost at most `max`. */
export class MaxCostCheckDto extends AnyCheckDto {
  @ApiProperty({ enum: ['max_cost_usd'] })
  type!: 'max_cost_usd';
  @ApiProperty({ minimum: 0 })
  max!: number;
}

const BY_TYPE = {
  equals: EqualsCheckDto,
  contains: ContainsCheckDto,
  regex: RegexCheckDto,
  json_schema: JsonSchemaCheckDto,
  levenshtein: LevenshteinCheckDto,
  numeric_range: NumericRangeCheckDto,
  tool_called: ToolCalledCheckDto,
  tool_order: ToolOrderCheckDto,
  max_steps: MaxStepsCheckDto,
  max_duration_ms: MaxDurationCheckDto,
  max_cost_usd: MaxCostCheckDto,
};

/** All forms of checks. */
export const CHECKS = Object.values(BY_TYPE);
export type CheckDto = InstanceType<(typeof CHECKS)[number]>;

/** OpenAPI of a check; what has one needs `CHECKS` as extra models. */
export const CHECK = {
  oneOf: CHECKS.map((one) => ({ $ref: getSchemaPath(one) })),
  discriminator: {
    propertyName: 'type',
    mapping: Object.fromEntries(Object.entries(BY_TYPE).map(([type, one]) => [type, getSchemaPath(one)])),
  },
};
