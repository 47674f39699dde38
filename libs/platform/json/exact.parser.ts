import { InvalidJson, JsonInputError } from './json-input.error';
import { MAX_DEPTH } from './json-limits';
import { shortPointerOf } from './json-pointer';
import { JsonCursor } from './json.cursor';
import { mayBeIndex, recordOrder, setMember } from './member-order';

const LONE_SURROGATE = /\p{Surrogate}/u;
/** Number of elements of a list that can be separate. A fault of a later element rejects the text. */
const SEPARATE_MAX = 1_000;

/** How the exact parser treats values. */
export interface ExactRules {
  /** Returns the value of a number. Throws the cursor's `rejection` for a number that is not allowed. */
  readonly number: (literal: string, cursor: JsonCursor) => unknown;
  /** Whether nesting over 64 levels and half of a surrogate pair are rejected. */
  readonly isBody?: boolean;
  /** The top-level member whose elements are separate: a rejected one becomes an `InvalidJson`. */
  readonly separate?: string | undefined;
  /** Whether a NUL character, and an object that names a member twice, are rejected. */
  readonly isUnambiguous?: boolean;
}

/**
 * Parses JSON text like `JSON.parse`, but with its own numbers, and keeps the order of members. It is several times slower,
 * so use it only for text that needs it.
 *
 * @throws JsonInputError for the first fault in the text
 */
export function parseExactly(text: string, rules: ExactRules): unknown {
  return new ExactParser(text, rules).parse();
}

/**
 * Parses JSON text that every parser must read alike. Throws a `JsonInputError` also for an object that names a member twice
 * (`JSON.parse` silently keeps the last one, other parsers the first; RFC 7519, section 4), for NUL and for half of a surrogate
 * pair, which PostgreSQL's `text` cannot store.
 */
export const parseUnambiguously = (text: string): unknown =>
  parseExactly(text, { number: Number, isBody: true, isUnambiguous: true });

/**
 * Returns the reason why a text is not JSON (RFC 8259) as a part of a sentence, with the position and what is expected there.
 * Null if it is JSON, or nested too deeply to tell.
 */
export function jsonFault(text: string): string | null {
  try {
    parseExactly(text, { number: Number });
    return null;
  } catch (error) {
    if (error instanceof JsonInputError) return error.syntaxFault ?? null;
    if (error instanceof RangeError) return null;
    throw error;
  }
}

class ExactParser {
  private readonly cursor: JsonCursor;
  private isSyntaxChecked = false;

  constructor(
    text: string,
    private readonly rules: ExactRules,
  ) {
    this.cursor = new JsonCursor(text);
  }

  parse(): unknown {
    const { cursor } = this;
    cursor.skipWhitespace();
    if (cursor.at === cursor.text.length) {
      const fault = 'it is empty, where a value is expected';
      throw new JsonInputError('', 'The body is empty. A JSON value is expected.', fault);
    }
    const value = this.value();
    cursor.skipWhitespace();
    if (cursor.at < cursor.text.length) throw cursor.syntaxError('the end', ' of the body');
    return value;
  }

  /** Reads the value at the current position, which is not whitespace. */
  private value(): unknown {
    const { cursor } = this;
    switch (cursor.text[cursor.at]) {
      case '{':
        return this.object();
      case '[':
        return this.array();
      case '"':
        return this.checked(cursor.string(), 'The string contains');
      default: {
        const number = cursor.number();
        return number === undefined ? cursor.literal() : this.rules.number(number, cursor);
      }
    }
  }

  private object(): Record<string, unknown> {
    const { cursor, rules } = this;
    this.checkDepth();
    cursor.at++;
    const object: Record<string, unknown> = {};
    /** All names so far, once one of them may be an index. */
    let names: string[] | undefined;
    cursor.skipWhitespace();
    if (cursor.accept('}')) return object;
    let isFirst = true;
    do {
      const name = this.checked(cursor.name(isFirst), 'A member name of this object contains');
      if (rules.isUnambiguous && Object.hasOwn(object, name)) {
        throw cursor.rejection('The object names a member twice.');
      }
      if (mayBeIndex(name)) names ??= Object.keys(object);
      names?.push(name);
      setMember(object, name, this.child(name));
      isFirst = false;
    } while (cursor.accept(','));
    if (!cursor.accept('}')) throw cursor.syntaxError('"," or "}"');
    if (names) recordOrder(object, names);
    return object;
  }

  private array(): unknown[] {
    const { cursor } = this;
    this.checkDepth();
    cursor.at++;
    const values: unknown[] = [];
    cursor.skipWhitespace();
    if (cursor.accept(']')) return values;
    const { path } = cursor;
    const separateMax = path.length === 1 && path[0] === this.rules.separate ? SEPARATE_MAX : 0;
    do {
      const index = values.length;
      values.push(index < separateMax ? this.separate(index) : this.child(index));
    } while (cursor.accept(','));
    if (!cursor.accept(']')) throw cursor.syntaxError('"," or "]"');
    return values;
  }

  private child(step: string | number): unknown {
    const { cursor } = this;
    cursor.path.push(step);
    cursor.skipWhitespace();
    const value = this.value();
    cursor.skipWhitespace();
    cursor.path.pop();
    return value;
  }

  /** Reads an element whose faults do not affect the other elements. */
  private separate(index: number): unknown {
    const { cursor } = this;
    cursor.skipWhitespace();
    const start = cursor.at;
    const depth = cursor.path.length;
    const place = shortPointerOf([...cursor.path, index]);
    try {
      return this.child(index);
    } catch (error) {
      if (!(error instanceof JsonInputError) || error.syntaxFault !== undefined) throw error;
      this.checkSyntax();
      cursor.path.length = depth;
      cursor.at = start;
      cursor.skipValue();
      cursor.skipWhitespace();
      return new InvalidJson(error.pointer.slice(place.length), error.detail);
    }
  }

  /** Throws for a text that is not JSON, however deeply it is nested. */
  private checkSyntax(): void {
    if (this.isSyntaxChecked) return;
    const { text } = this.cursor;
    try {
      JSON.parse(text);
      this.isSyntaxChecked = true;
    } catch {
      const fault = jsonFault(text) ?? 'its syntax is invalid';
      throw new JsonInputError('', `The body is not JSON: ${fault}.`, fault);
    }
  }

  /** Throws for the first value that is nested too deeply. */
  private checkDepth(): void {
    if (this.rules.isBody && this.cursor.path.length >= MAX_DEPTH) {
      throw this.cursor.rejection(
        `The value is nested more than ${MAX_DEPTH} levels deep. Nest at most ${MAX_DEPTH}.`,
      );
    }
  }

  /**
   * Returns the string that was read last. Only an escape can encode a NUL character or half of a surrogate pair, because the
   * text is well-formed.
   *
   * @param where begins the detail of an error
   */
  private checked(string: string, where: string): string {
    const { cursor, rules } = this;
    if (!cursor.isEscaped) return string;
    const lone = rules.isBody ? LONE_SURROGATE.exec(string) : null;
    if (lone) {
      const escape = `\\u${lone[0].charCodeAt(0).toString(16)}`;
      throw cursor.rejection(
        `${where} half of a surrogate pair (${escape}), which is not a character. Send both halves or neither.`,
      );
    }
    if (rules.isUnambiguous && string.includes('\0')) throw cursor.rejection(`${where} a NUL character.`);
    return string;
  }
}
