/**
 * Declarative checks of one target (contract section 10, scorers of kind `code`): the members each type has, as they
 * are written in a definition. Every check passes or fails; one that has nothing to look at (no trace, no `expected` to
 * compare with, an unknown cost) makes the item an error and not a failure, so that missing data is never a score of 0.
 * So does one of a trace that is seen in part (`is_truncated`), unless what is not seen could not change its outcome.
 */
export type Check = ValueCheck | TraceCheck;

/** Checks that look at a value in the subject. */
export type ValueCheck =
  EqualsCheck | ContainsCheck | RegexCheck | JsonSchemaCheck | LevenshteinCheck | NumericRangeCheck;

/** Checks that look at the trace, for a session at all of its traces. */
export type TraceCheck = ToolCalledCheck | ToolOrderCheck | MaxStepsCheck | MaxDurationCheck | MaxCostCheck;

export type CheckType = Check['type'];

/** Members that every check may have. */
export interface CommonMembers {
  /** Its name in `answers` and `reasoning`, unique in the definition; by default its type, with `_2`, `_3` … */
  name?: string;
  /** True turns passed and failed around. A path that leads to nothing fails also then. */
  negate?: boolean;
}

/** Members of the checks that look at a value. */
export interface ValueMembers extends CommonMembers {
  /**
   * Where the value is: a singular query of RFC 9535 whose first name is a member of the subject, with or without the
   * leading `$.`: `output`, `output.items[0].name`, `$['output']['a b']`, `output.items[-1]`. Default `output`.
   */
  path?: string;
}

/** What a value is compared with: a literal, or what a path leads to. Neither means `"expected_path": "expected"`. */
export interface ComparandMembers {
  value?: unknown;
  expected_path?: string;
}

/** Passes where both are the same JSON value: 1 and 1.0 are, members may be in any order. */
export interface EqualsCheck extends ValueMembers, ComparandMembers {
  type: 'equals';
  /** False: strings are compared without regard to case. Default true. */
  case_sensitive?: boolean;
}

/**
 * Passes where a text contains a text, a list an equal item, or an object the same members (and perhaps more). In a text
 * a number or a boolean is looked for as it is written.
 */
export interface ContainsCheck extends ValueMembers, ComparandMembers {
  type: 'contains';
  /** In place of `value`: several, of which `match` says how many must be there. */
  values?: unknown[];
  match?: 'all' | 'any';
  case_sensitive?: boolean;
}

/** Passes where the pattern matches anywhere in the text; a value that is no string is matched as its JSON text. */
export interface RegexCheck extends ValueMembers {
  type: 'regex';
  /** In the syntax of `LinearRegExp`: JavaScript's without lookaround and backreferences. */
  pattern: string;
  /** Out of `i`, `m`, `s`, `u`. */
  flags?: string;
}

/** Passes where the value is valid under the schema (JSON Schema 2020-12). */
export interface JsonSchemaCheck extends ValueMembers {
  type: 'json_schema';
  schema: unknown;
  /** True: the value is a text that is parsed as JSON first, and fails where it is none. Default false. */
  parse_json?: boolean;
}

/**
 * Compares two texts by their similarity: 1 less the edits between them divided by the length of the longer. Passes
 * from `threshold` on. Without one the check is graded: it passes where the texts are the same, and counts in `mean`
 * with the similarity itself. Texts of at most 20,000 UTF-16 code units.
 */
export interface LevenshteinCheck extends ValueMembers, ComparandMembers {
  type: 'levenshtein';
  /** 0 to 1. */
  threshold?: number;
  case_sensitive?: boolean;
}

/** Passes where a number, or a text that is nothing but a number, is within the bounds, which count as within. */
export interface NumericRangeCheck extends ValueMembers {
  type: 'numeric_range';
  /** At least one of the two. */
  min?: number;
  max?: number;
}

/** Passes where each tool was called often enough. */
export interface ToolCalledCheck extends CommonMembers {
  type: 'tool_called';
  /** One tool by its name, or several of which each must have been called. */
  tool?: string;
  tools?: string[];
  /** Calls of each tool, at least (default 1) and at most. */
  min?: number;
  max?: number;
  /** Only calls whose arguments have these members (and perhaps more) count. */
  arguments?: Record<string, unknown>;
}

/** Passes where the tools were called in this order, by the start of their spans. */
export interface ToolOrderCheck extends CommonMembers {
  type: 'tool_order';
  tools: string[];
  /** `subsequence` (default): other calls may lie between; `exact`: these calls and no others. */
  mode?: 'subsequence' | 'exact';
}

/** Passes where the trace has at most this many steps. */
export interface MaxStepsCheck extends CommonMembers {
  type: 'max_steps';
  max: number;
  /**
   * What a step is: a call of a model (`model`), of a tool (`tool`) or either (default). In a trace in which neither can
   * be told from other spans, each span is a step.
   */
  count?: 'model' | 'tool';
}

/** Passes where the trace took at most `max` ms: its `duration_ms`, else from its first start to its last end. */
export interface MaxDurationCheck extends CommonMembers {
  type: 'max_duration_ms';
  max: number;
}

/**
 * Passes where the trace cost at most `max` US dollars: its `cost_usd`, else the sum of what its spans say. An error where
 * its `cost_usd` is null, because then the sum is not all that it cost.
 */
export interface MaxCostCheck extends CommonMembers {
  type: 'max_cost_usd';
  max: number;
}

/**
 * How checks become a score: `all` (default) 1 where all passed, else 0; `any` 1 where one passed, else 0; `mean` the
 * share that passed, graded checks counting with their grade.
 */
export type Aggregate = 'all' | 'any' | 'mean';

/** A definition by checks, 1 to 100 of them. */
export interface ChecksDefinition {
  checks: Check[];
  aggregate: Aggregate;
}
