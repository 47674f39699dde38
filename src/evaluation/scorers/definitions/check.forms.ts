import { compileJsonSchema, SchemaError } from '#platform/json-schema';
import { LinearRegExp, MAX_PATTERN_LENGTH, PatternError } from '#platform/linear-regexp';
import {
  byType,
  flag,
  form,
  integer,
  jsonObject,
  list,
  nullable,
  number,
  oneOf,
  optional,
  type Place,
  text,
  type TypeOf,
  value,
} from './form';
import { parsePath } from './json.path';
import { SUBJECT_MEMBERS } from './limits';

/*
 * The checks of a `code` scorer. Each passes or fails. A check without its data (no trace, no `expected`, an unknown cost)
 * makes the item an error, so that missing data never scores 0. So does a check of a truncated trace (`is_truncated`),
 * unless the missing part cannot change the outcome.
 */

const COUNT_MAX = 1_000_000;

const anyJson = (description: string) => value<unknown>(description, ANY_JSON, () => undefined);
const ANY_JSON = {
  oneOf: [
    { type: 'object', additionalProperties: true },
    { type: 'array', items: {} },
    { type: 'string' },
    { type: 'number' },
    { type: 'boolean' },
    { type: 'null' },
  ],
};

const path = (description: string) => text(description, { max: 500 }, faultOfPath);

function faultOfPath(query: string): string | undefined {
  try {
    const [first] = parsePath(query);
    if (SUBJECT_MEMBERS.some((member) => member === first)) return undefined;
    return `must begin with one of ${SUBJECT_MEMBERS.join(', ')}`;
  } catch (error) {
    return (error as Error).message;
  }
}

const COMMON_MEMBERS = {
  name: optional(
    text('Unique among the checks. Defaults to the type, followed by `_2`, `_3` and so on if needed.', {
      max: 100,
    }),
  ),
  negate: optional(flag('Swaps passed and failed. A check whose path selects nothing always fails.'), false),
};
const VALUE_MEMBERS = {
  ...COMMON_MEMBERS,
  path: optional(
    path(
      'Selects the value to check: a singular query of RFC 9535 that starts at a member of the subject, such as `output.items[0].name`. The leading `$.` is optional.',
    ),
    'output',
  ),
};
const COMPARISON_MEMBERS = {
  ...VALUE_MEMBERS,
  value: optional(anyJson('The value to compare with. Cannot be combined with `expected_path`.')),
  expected_path: optional(path('Selects the value to compare with. Defaults to `expected`.')),
};
const CASE_MEMBER = { case_sensitive: optional(flag('Whether upper and lower case differ.'), true) };
const tool = (description: string) => text(description, { max: 255 });
const tools = (description: string) =>
  list(description, tool(''), { noun: 'strings of 1 to 255 characters', min: 1, max: 100 });

function checkComparand(check: { value?: unknown; expected_path?: string }, place: Place): void {
  if (check.value === undefined || check.expected_path === undefined) return;
  place.at('expected_path').fault('cannot be combined with value');
}

function checkBounds({ min, max }: { min?: number; max?: number }, place: Place): void {
  if (min !== undefined && max !== undefined && min > max) place.at('min').fault('must not be above max');
}

const EQUALS = form(
  'EqualsCheckDto',
  'Passes if both values are the same JSON value. The order of members does not matter.',
  { type: oneOf('', ['equals']), ...COMPARISON_MEMBERS, ...CASE_MEMBER },
  checkComparand,
);

const CONTAINS = form(
  'ContainsCheckDto',
  'Passes if the checked value contains `value`: as part of a text, as an item of a list, or as members of an object.',
  {
    type: oneOf('', ['contains']),
    ...COMPARISON_MEMBERS,
    ...CASE_MEMBER,
    values: optional(
      list('Several values instead of `value`.', { ...anyJson(''), schema: {} }, { noun: 'values', min: 1 }),
    ),
    match: optional(oneOf('How many of `values` must be contained.', ['all', 'any']), 'all'),
  },
  (check, place) => {
    checkComparand(check, place);
    if (check.values === undefined) return;
    if (check.value !== undefined || check.expected_path !== undefined) {
      place.at('values').fault('cannot be combined with value or expected_path');
    }
  },
);

const REGEX = form(
  'RegexCheckDto',
  'Passes if the pattern matches anywhere in the text. A value that is not a string is matched as JSON.',
  {
    type: oneOf('', ['regex']),
    ...VALUE_MEMBERS,
    pattern: value<string>(
      'JavaScript syntax without lookaround and backreferences.',
      { type: 'string', maxLength: MAX_PATTERN_LENGTH },
      (input) => (typeof input === 'string' ? undefined : 'must be a string'),
    ),
    flags: nullable(
      value<string>('Any of `i`, `m`, `s` and `u`.', { type: 'string' }, (input) =>
        typeof input === 'string' ? undefined : 'must be a string of the flags i, m, s and u',
      ),
    ),
  },
  ({ pattern, flags }, place) => {
    try {
      LinearRegExp.compile(pattern, flags ?? '');
    } catch (error) {
      if (!(error instanceof PatternError)) throw error;
      place.at('pattern').fault(`cannot be used: ${error.message}`);
    }
  },
);

const JSON_SCHEMA = form(
  'JsonSchemaCheckDto',
  'Passes if the value is valid under `schema`.',
  {
    type: oneOf('', ['json_schema']),
    ...VALUE_MEMBERS,
    schema: value<unknown>(
      'JSON Schema 2020-12.',
      { oneOf: [{ type: 'object', additionalProperties: true }, { type: 'boolean' }] },
      () => undefined,
    ),
    parse_json: optional(
      flag('First parses the value, which must be a text, as JSON. Fails if it is not JSON.'),
      false,
    ),
  },
  ({ schema }, place) => {
    try {
      compileJsonSchema(schema);
    } catch (error) {
      if (!(error instanceof SchemaError)) throw error;
      place.at('schema').fault(error.message, error.pointer);
    }
  },
);

const LEVENSHTEIN = form(
  'LevenshteinCheckDto',
  'Compares two texts by their similarity: 1 minus the number of edits divided by the length of the longer text.',
  {
    type: oneOf('', ['levenshtein']),
    ...COMPARISON_MEMBERS,
    ...CASE_MEMBER,
    threshold: optional(
      number(
        'Lowest similarity that passes. Without it, only equal texts pass, and `mean` counts the similarity.',
        0,
        1,
      ),
    ),
  },
  checkComparand,
);

const NUMERIC_RANGE = form(
  'NumericRangeCheckDto',
  'Passes if a number, or a text that is a number, is from `min` to `max`. You can omit either bound.',
  {
    type: oneOf('', ['numeric_range']),
    ...VALUE_MEMBERS,
    min: optional(number('')),
    max: optional(number('Not below `min`.')),
  },
  (check, place) => {
    if (check.min === undefined && check.max === undefined) place.fault('needs min, max or both');
    checkBounds(check, place);
  },
);

const TOOL_CALLED = form(
  'ToolCalledCheckDto',
  'Passes if each tool was called `min` to `max` times. Requires either `tool` or `tools`.',
  {
    type: oneOf('', ['tool_called']),
    ...COMMON_MEMBERS,
    tool: optional(tool('One tool.')),
    tools: optional(tools('Several tools. Each must have been called.')),
    min: optional(integer('1 by default, or 0 if `max` is 0.', 0, COUNT_MAX)),
    max: optional(integer('Not below `min`.', 0, COUNT_MAX)),
    arguments: optional(jsonObject('Counts only calls whose arguments include these members.')),
  },
  (check, place) => {
    if ((check.tool === undefined) === (check.tools === undefined)) {
      place.fault('needs either tool or tools');
    }
    checkBounds(check, place);
  },
);

const TOOL_ORDER = form('ToolOrderCheckDto', 'Passes if the tools were called in this order.', {
  type: oneOf('', ['tool_order']),
  ...COMMON_MEMBERS,
  tools: tools('In the order in which their spans start.'),
  mode: optional(
    oneOf('`subsequence` allows other calls in between, `exact` allows no other call.', [
      'subsequence',
      'exact',
    ]),
    'subsequence',
  ),
});

const MAX_STEPS = form(
  'MaxStepsCheckDto',
  'Passes if the trace has at most `max` model calls and tool calls.',
  {
    type: oneOf('', ['max_steps']),
    ...COMMON_MEMBERS,
    max: integer('', 0, COUNT_MAX),
    count: optional(
      oneOf(
        'Counts only model calls, or only tool calls. Without `count`, counts both, or all spans of a trace that has neither.',
        ['model', 'tool'],
      ),
    ),
  },
);

const MAX_DURATION = form('MaxDurationCheckDto', 'Passes if the trace took at most `max` ms.', {
  type: oneOf('', ['max_duration_ms']),
  ...COMMON_MEMBERS,
  max: number('', 0),
});

const MAX_COST = form(
  'MaxCostCheckDto',
  'Passes if the trace cost at most `max` US dollars. An error if part of its cost is unknown.',
  { type: oneOf('', ['max_cost_usd']), ...COMMON_MEMBERS, max: number('', 0) },
);

const CHECKS = {
  equals: EQUALS,
  contains: CONTAINS,
  regex: REGEX,
  json_schema: JSON_SCHEMA,
  levenshtein: LEVENSHTEIN,
  numeric_range: NUMERIC_RANGE,
  tool_called: TOOL_CALLED,
  tool_order: TOOL_ORDER,
  max_steps: MAX_STEPS,
  max_duration_ms: MAX_DURATION,
  max_cost_usd: MAX_COST,
};

export const CHECK = byType(CHECKS);
export const CHECK_FORMS = Object.values(CHECKS);

export type Check = TypeOf<typeof CHECK>;
export type CheckOf<Type extends keyof typeof CHECKS> = TypeOf<(typeof CHECKS)[Type]>;
/** Checks that look at a value of the subject. */
export type ValueCheck = CheckOf<
  'equals' | 'contains' | 'regex' | 'json_schema' | 'levenshtein' | 'numeric_range'
>;
