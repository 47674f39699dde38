import { isJsonObject } from '#platform/json';
import { LinearRegExp, type StepBudget } from '#platform/linear-regexp';
import {
  type Builtin,
  mayHaveNumbers,
  type OnMatch,
  searchApiKeys,
  type SearchPart,
  searchCards,
  searchEmails,
  searchPhones,
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

/** Steps that each match of a pattern takes, because it takes memory and must be replaced. */
const MATCH_STEPS = 20;

/**
 * Characters that are searched at once. Longer texts, and many short ones, pause after each part, because all rules
 * together take a few milliseconds for it.
 */
const PART_LENGTH = 32 * 1024;

/** Maximum number of names whose kind a masker remembers. */
const NAMES_MAX = 10_000;

/** Names of members that hold identifiers, or lists of them. */
const ID_NAME = /(?:^|[._-])ids?$|[a-z0-9]Ids?$/;

interface Rule {
  bit: number;
  /** The bits of earlier rules that find the same values. */
  sameAs: number;
  replacement: string;
  /** Whether only texts with several digits have matches. */
  needsDigits: boolean;
  /** Begins a search for the values in a text. */
  search: (text: string, onMatch: OnMatch, budget: StepBudget) => SearchPart;
}

const BUILTIN_SEARCHES: Record<Builtin, (text: string, onMatch: OnMatch) => SearchPart> = {
  email: searchEmails,
  phone: searchPhones,
  card: searchCards,
  api_key: searchApiKeys,
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
      const sameAs = rules
        .slice(0, index)
        .reduce((bits, one, at) => (isSameSearch(one, { builtin, pattern }) ? bits | (1 << at) : bits), 0);
      const needsDigits = builtin === 'phone' || builtin === 'card';
      const search = builtin ? BUILTIN_SEARCHES[builtin] : patternSearch(pattern!);
      return { bit, sameAs, needsDigits, search, replacement: replacement ?? defaultReplacement(builtin) };
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

const isSameSearch = (one: MaskingRule, other: MaskingRule): boolean =>
  one.builtin ? one.builtin === other.builtin : !other.builtin && one.pattern === other.pattern;

function patternSearch(pattern: string): Rule['search'] {
  const finder = LinearRegExp.compile(pattern).finder();
  return (text, onMatch, budget) => {
    const search = finder.search(text, budget, (start, end) => {
      budget.left -= MATCH_STEPS;
      onMatch(start, end);
    });
    return (from, to) => {
      // what was not searched may contain values to mask
      if (!search(to)) onMatch(from, text.length);
    };
  };
}

/** A value to mask in the current text. */
interface Match {
  start: number;
  end: number;
  rule: Rule;
}

/** The first and longest ones first. */
const byStart = (one: Match, other: Match): number => one.start - other.start || other.end - one.end;

/**
 * Masks the texts of one request. Never throws, and takes time linear in the texts. Its methods pause often, so run them with
 * `inSlices`.
 */
export class Masking {
  /** Number of values that were replaced. */
  count = 0;
  private readonly steps: StepBudget = { left: STEPS_MAX };
  private growthLeft = GROWTH_MAX;
  /** Characters that were searched since the last pause. */
  private searched = 0;

  constructor(readonly masker: Masker) {}

  /** Masks the text of a field. Returns the same text if it contains nothing to mask. */
  text(text: string, ...fields: readonly (string | undefined)[]): Generator<void, string> {
    return this.apply(text, this.masker.within(...fields));
  }

  /**
   * Masks the strings in the JSON value of a field, at any depth, except identifiers. Changes lists and objects in place.
   *
   * @returns the masked value
   */
  json<Value>(value: Value, ...fields: readonly (string | undefined)[]): Generator<void, Value> {
    return this.value(value, this.masker.within(...fields)) as Generator<void, Value>;
  }

  /** Like `json`, for the rules of a field. */
  *value(value: unknown, rules: number): Generator<void, unknown> {
    if (typeof value === 'string') return yield* this.apply(value, rules);
    if (Array.isArray(value)) {
      for (let index = 0; index < value.length; index++) {
        const item: unknown = value[index];
        if (typeof item === 'string' || typeof item === 'object')
          value[index] = yield* this.value(item, rules);
      }
    } else if (isJsonObject(value)) {
      yield* this.members(value, rules);
    }
    return value;
  }

  private *members(object: Record<string, unknown>, rules: number): Generator<void, void> {
    const { masker } = this;
    for (const name of Object.keys(object)) {
      const member = object[name];
      if ((typeof member !== 'string' && typeof member !== 'object') || member === null) continue;
      // the name of a called tool is next to its arguments
      const isTool = name === 'name' && object.arguments !== undefined;
      if (isTool || ((typeof member === 'string' || Array.isArray(member)) && masker.isIdentifier(name)))
        continue;
      const masked = yield* this.value(member, masker.into(rules, name));
      // only for strings, because an assignment to `__proto__` may not set a member
      if (masked !== member) Object.defineProperty(object, name, { ...PLAIN, value: masked });
    }
  }

  /** Masks a text by some rules, a part at a time. */
  private *apply(text: string, rules: number): Generator<void, string> {
    if (rules === 0 || text === '') return text;
    const found: Match[] = [];
    const searches = this.masker.rules
      .filter((rule) => (rules & rule.bit) !== 0 && (rules & rule.sameAs) === 0)
      .map((rule) => ({
        needsDigits: rule.needsDigits,
        search: rule.search(text, (start, end) => found.push({ start, end, rule }), this.steps),
      }));
    let result = '';
    let at = 0;
    for (let from = 0; at < text.length && from < text.length; from += PART_LENGTH) {
      const to = Math.min(from + PART_LENGTH, text.length);
      let hasDigits: boolean | undefined;
      for (const { needsDigits, search } of searches) {
        if (!needsDigits || (hasDigits ??= mayHaveNumbers(text, from, to))) search(from, to);
      }
      this.searched += to - from;
      if (this.searched >= PART_LENGTH) {
        this.searched = 0;
        yield;
      }
      if (found.length === 0) continue;
      // of several that overlap, the first and longest one replaces them all
      found.sort(byStart);
      let done = 0;
      for (; done < found.length && found[done]!.start < to; done++) {
        const { start, end, rule } = found[done]!;
        if (start >= at) {
          result += text.slice(at, start) + this.fitting(rule.replacement, end - start);
          this.count += 1;
        }
        at = Math.max(at, end);
      }
      found.splice(0, done);
    }
    return at === 0 ? text : result + text.slice(at);
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
