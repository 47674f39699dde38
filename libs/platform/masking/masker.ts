import { isJsonObject } from '#platform/json';
import { LinearRegExp, type StepBudget } from '#platform/linear-regexp';
import {
  type Builtin,
  findApiKeys,
  findCards,
  findEmails,
  findPhones,
  mayHaveNumbers,
  type OnMatch,
} from './builtin.matchers';

/** A rule of a workspace: which values to replace in its texts. */
export interface MaskingRule {
  /** Either a kind of values that the service knows, or a pattern, as `LinearRegExp` accepts it. */
  builtin?: Builtin | null;
  pattern?: string | null;
  /** Taken literally. Default: the name of the built-in kind in brackets, or `[masked]`. */
  replacement?: string | null;
  /** The names of members and attributes to which the rule is limited, with everything in them. Default: all texts. */
  fields?: readonly string[] | null;
}

/** Characters by which replacements can lengthen the texts of one request. Beyond it, matches are removed instead. */
const GROWTH_MAX = 1024 * 1024;

/** Steps that the patterns of a workspace can take for one request: some 200 ms. Beyond it, texts are replaced as a whole. */
const STEPS_MAX = 20_000_000;

/** Length of the shortest value that a built-in rule finds. */
const BUILTIN_MIN = 6;

/** Maximum number of names whose kind a masker remembers. */
const NAMES_MAX = 10_000;

/** Names of members that hold identifiers, or lists of them. */
const ID_NAME = /(?:^|[._-])ids?$|[a-z0-9]Ids?$/;

interface Rule {
  bit: number;
  replacement: string;
  /** Whether only texts with several digits have matches. */
  needsDigits: boolean;
  /** Calls `onMatch` for each match. Returns false if the budget is exhausted. */
  find: (text: string, onMatch: OnMatch, budget: StepBudget) => boolean;
}

const BUILTIN_FINDERS: Record<Builtin, (text: string, onMatch: OnMatch) => void> = {
  email: findEmails,
  phone: findPhones,
  card: findCards,
  api_key: findApiKeys,
};

/** The compiled rules of a workspace. */
export class Masker {
  /** @internal */
  readonly rules: readonly Rule[];
  /** The rules that apply to every text, one bit for each. */
  private readonly everywhere: number;
  /** The rules that apply to a field and everything in it. */
  private readonly byField = new Map<string, number>();
  private readonly identifiers = new Map<string, boolean>();

  /** @throws PatternError if a pattern is malformed, too large or not supported */
  constructor(rules: readonly MaskingRule[]) {
    let everywhere = 0;
    this.rules = rules.map(({ builtin, pattern, replacement, fields }, index) => {
      const bit = 1 << index;
      if (!fields) everywhere |= bit;
      for (const field of fields ?? []) this.byField.set(field, (this.byField.get(field) ?? 0) | bit);
      const needsDigits = builtin === 'phone' || builtin === 'card';
      const find = builtin ? builtinFinder(builtin) : patternFinder(pattern!);
      return { bit, needsDigits, find, replacement: replacement ?? defaultReplacement(builtin) };
    });
    this.everywhere = everywhere;
  }

  /** Starts to mask the texts of one request. */
  start(): Masking {
    return new Masking(this);
  }

  /** Whether a rule is limited to fields. */
  get hasFields(): boolean {
    return this.byField.size > 0;
  }

  /** Returns the rules that apply within fields, one inside the other. */
  within(...fields: readonly (string | undefined)[]): number {
    let rules = this.everywhere;
    if (this.byField.size === 0) return rules;
    for (const field of fields) if (field !== undefined) rules = this.into(rules, field);
    return rules;
  }

  /** Returns the rules that apply to a member of a value to which `rules` apply. */
  into(rules: number, member: string): number {
    return this.byField.size === 0 ? rules : rules | (this.byField.get(member) ?? 0);
  }

  /** Whether a member of this name holds identifiers: `id`, or a name that ends in `.id`, `_id`, `-id` or `Id`, or their plurals. */
  isIdentifier(name: string): boolean {
    let is = this.identifiers.get(name);
    if (is === undefined) {
      is = ID_NAME.test(name);
      if (this.identifiers.size < NAMES_MAX) this.identifiers.set(name, is);
    }
    return is;
  }
}

/** Returns the replacement of a rule that has none. */
export const defaultReplacement = (builtin: Builtin | null | undefined): string => `[${builtin ?? 'masked'}]`;

function builtinFinder(builtin: Builtin): Rule['find'] {
  const find = BUILTIN_FINDERS[builtin];
  return (text, onMatch) => {
    if (text.length >= BUILTIN_MIN) find(text, onMatch);
    return true;
  };
}

function patternFinder(pattern: string): Rule['find'] {
  const finder = LinearRegExp.compile(pattern).finder();
  return (text, onMatch, budget) => finder.find(text, budget, onMatch);
}

/** Masks the texts of one request. Never throws, and takes time linear in the texts. */
export class Masking {
  /** Number of values that were replaced. */
  count = 0;
  private readonly steps: StepBudget = { left: STEPS_MAX };
  private growthLeft = GROWTH_MAX;
  /** The matches in the current text: start, end and rule of each. */
  private readonly starts: number[] = [];
  private readonly ends: number[] = [];
  private readonly found: Rule[] = [];
  private current!: Rule;
  private readonly add: OnMatch = (start, end) => {
    this.starts.push(start);
    this.ends.push(end);
    this.found.push(this.current);
  };

  constructor(readonly masker: Masker) {}

  /** Masks the text of a field. Returns the same text if it contains nothing to mask. */
  text(text: string, ...fields: readonly (string | undefined)[]): string {
    return this.apply(text, this.masker.within(...fields));
  }

  /**
   * Masks the strings in the JSON value of a field, at any depth, except identifiers. Changes lists and objects in place.
   *
   * @returns the masked value
   */
  json<Value>(value: Value, ...fields: readonly (string | undefined)[]): Value {
    return this.value(value, this.masker.within(...fields)) as Value;
  }

  /** Like `json`, for the rules of a field. */
  value(value: unknown, rules: number): unknown {
    if (typeof value === 'string') return this.apply(value, rules);
    if (Array.isArray(value)) {
      for (let index = 0; index < value.length; index++) {
        const item: unknown = value[index];
        if (typeof item === 'string' || typeof item === 'object') value[index] = this.value(item, rules);
      }
    } else if (isJsonObject(value)) {
      this.members(value, rules);
    }
    return value;
  }

  private members(object: Record<string, unknown>, rules: number): void {
    const { masker } = this;
    for (const name of Object.keys(object)) {
      const member = object[name];
      if ((typeof member !== 'string' && typeof member !== 'object') || member === null) continue;
      // the name of a called tool is next to its arguments
      const isTool = name === 'name' && object.arguments !== undefined;
      if (isTool || ((typeof member === 'string' || Array.isArray(member)) && masker.isIdentifier(name)))
        continue;
      const masked = this.value(member, masker.into(rules, name));
      // only for strings, because an assignment to `__proto__` may not set a member
      if (masked !== member) Object.defineProperty(object, name, { ...PLAIN, value: masked });
    }
  }

  /** Masks a text by some rules. */
  apply(text: string, rules: number): string {
    if (rules === 0 || text === '') return text;
    let hasDigits: boolean | undefined;
    for (const rule of this.masker.rules) {
      if ((rules & rule.bit) === 0) continue;
      if (rule.needsDigits && !(hasDigits ??= mayHaveNumbers(text))) continue;
      this.current = rule;
      // what was not searched may contain values to mask
      if (!rule.find(text, this.add, this.steps)) this.add(0, text.length);
    }
    return this.found.length === 0 ? text : this.replaced(text);
  }

  /** Replaces the matches. Where several overlap, the first and longest one replaces them all. */
  private replaced(text: string): string {
    const { starts, ends, found } = this;
    const order = starts.map((_, index) => index);
    order.sort((one, other) => starts[one]! - starts[other]! || ends[other]! - ends[one]!);
    let result = '';
    let at = 0;
    for (let next = 0; next < order.length;) {
      const first = order[next]!;
      const start = starts[first]!;
      let end = ends[first]!;
      for (next += 1; next < order.length && starts[order[next]!]! < end; next++) {
        end = Math.max(end, ends[order[next]!]!);
      }
      result += text.slice(at, start) + this.fitting(found[first]!.replacement, end - start);
      at = end;
      this.count += 1;
    }
    starts.length = ends.length = found.length = 0;
    return result + text.slice(at);
  }

  /** Returns the replacement of a match, or nothing if the texts have become too long. */
  private fitting(replacement: string, length: number): string {
    const growth = replacement.length - length;
    if (growth <= 0) return replacement;
    if (growth > this.growthLeft) return '';
    this.growthLeft -= growth;
    return replacement;
  }
}

const PLAIN = { enumerable: true, writable: true, configurable: true };
