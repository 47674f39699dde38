import { ApiProperty } from '@nestjs/swagger';
import { ArrayMaxSize, ArrayNotEmpty, IsArray, IsOptional, IsString, Length } from 'class-validator';
import { IsNullableText, IsOneOf } from '#platform/http';
import { toRawJson, type RawJson } from '#platform/json';
import { LinearRegExp, MAX_PATTERN_LENGTH, PatternError } from '#platform/linear-regexp';
import { type Builtin, BUILTINS, defaultReplacement } from '#platform/masking';
import { problem } from '#platform/problem';

/** Maximum number of rules of a workspace. */
export const RULES_MAX = 20;
const FIELDS_MAX = 50;
const TEXT_MAX = 255;

/** Maximum size of all patterns of a workspace, in instructions, because every process compiles them. */
const PATTERNS_SIZE_MAX = 2_000;

/** A rule that replaces values in texts. It has either `builtin` or `pattern`. */
export class MaskingRuleDto {
  /** A kind of values that the service knows: e-mail addresses, phone numbers, card numbers, or secrets such as API keys. */
  @IsOptional()
  @IsOneOf(BUILTINS, { required: false, nullable: true })
  builtin?: Builtin | null;

  /** A regular expression without lookaround and backreferences, so that matching takes linear time. It must not match an empty text. */
  @IsNullableText(MAX_PATTERN_LENGTH)
  pattern?: string | null;

  /** Replaces each match, taken literally. Default: `[email]`, `[phone]`, `[card]`, `[api_key]`, or `[masked]` for a pattern. */
  @IsNullableText(TEXT_MAX, 0)
  replacement?: string | null;

  /** Names of members or attributes, such as `input` or `gen_ai.input.messages`. The rule then applies only to these and to everything in them. */
  @IsOptional()
  @IsArray()
  @ArrayNotEmpty()
  @ArrayMaxSize(FIELDS_MAX)
  @IsString({ each: true })
  @Length(1, TEXT_MAX, { each: true })
  @ApiProperty({
    type: 'array',
    items: { type: 'string', minLength: 1, maxLength: TEXT_MAX },
    minItems: 1,
    maxItems: FIELDS_MAX,
    nullable: true,
    required: false,
  })
  fields?: string[] | null;
}

/** Returns the rules of a body as they are stored. Throws 400 for a rule that cannot be used. */
export function storedRules(rules: readonly MaskingRuleDto[] | null | undefined): RawJson {
  let size = 0;
  const stored = (rules ?? []).map(
    ({ builtin = null, pattern = null, replacement, fields = null }, index) => {
      const pointer = `/masking/${index}`;
      if ((builtin === null) === (pattern === null)) {
        throw problem.invalidField(pointer, 'must have either `builtin` or `pattern`');
      }
      if (pattern !== null) size += sizeOf(pattern, `${pointer}/pattern`);
      if (size > PATTERNS_SIZE_MAX) {
        const detail = `makes the patterns of the workspace too large: together, they can have at most ${PATTERNS_SIZE_MAX} steps`;
        throw problem.invalidField(`${pointer}/pattern`, detail);
      }
      return { builtin, pattern, replacement: replacement ?? defaultReplacement(builtin), fields };
    },
  );
  return toRawJson(stored);
}

/** Returns the cost of compiling a pattern. Throws 400 for one that is not supported or matches an empty text. */
function sizeOf(pattern: string, pointer: string): number {
  try {
    const compiled = LinearRegExp.compile(pattern);
    if (!compiled.matchesEmptyText()) return compiled.compileCost;
  } catch (error) {
    if (error instanceof PatternError) {
      throw problem.invalidField(pointer, `cannot be used: ${error.message}`);
    }
    throw error;
  }
  throw problem.invalidField(pointer, 'must not match an empty text');
}
