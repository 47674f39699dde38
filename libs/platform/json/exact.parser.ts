import { JsonInputError } from './json-input.error';
import { MAX_DEPTH } from './json-limits';
import { objectOf } from './member-order';
import { escapedToken } from './json-pointer';
import { numberFault } from './number.rule';

/** Longest pointer in an error, in characters. A longer one is truncated after a whole member. */
const MAX_POINTER_LENGTH = 512;

const SPACE = 0x20;
const WHITESPACE = /[ \t\n\r]*/y;
const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
const STRING_CONTENT = /[^"\\\u0000-\u001f]*/y;
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;
const LONE_SURROGATE = /\p{Surrogate}/u;
const LITERALS: readonly (readonly [string, unknown])[] = [
  ['null', null],
  ['true', true],
  ['false', false],
];

/** What the exact parser refuses besides invalid JSON. */
export interface ExactRules {
  /** `body`: everything that {@link parseJson} refuses. `stored`: nothing, because the text was accepted before. */
  readonly source: 'body' | 'stored';
}

/**
 * Parses JSON text like `JSON.parse`, but tracks its position and keeps the order of members. It is several times slower,
 * so use it only for text that needs it.
 *
 * @throws JsonInputError for the first fault in the text
 */
export function parseExactly(text: string, rules: ExactRules): unknown {
  return new ExactParser(text, rules.source === 'body').parse();
}

/**
 * Returns why a text is not JSON (RFC 8259), with the position and what is expected there, as a part of a sentence. Null if
 * it is JSON, or nested too deeply to tell.
 */
export function jsonFault(text: string): string | null {
  try {
    parseExactly(text, { source: 'stored' });
    return null;
  } catch (error) {
    if (error instanceof JsonInputError) return error.syntaxFault ?? null;
    if (error instanceof RangeError) return null;
    throw error;
  }
}

class ExactParser {
  private at = 0;
  private readonly path: (string | number)[] = [];

  constructor(
    private readonly text: string,
    private readonly isStrict: boolean,
  ) {}

  parse(): unknown {
    this.skipWhitespace();
    if (this.at === this.text.length) {
      const fault = 'it is empty, where a value is expected';
      throw new JsonInputError('', 'The body is empty. A JSON value is expected.', fault);
    }
    const value = this.value();
    this.skipWhitespace();
    if (this.at < this.text.length) throw this.syntaxError('the end', ' of the body');
    return value;
  }

  /** Reads the value at the current position, which is not whitespace. */
  private value(): unknown {
    switch (this.text[this.at]) {
      case '{':
        return this.object();
      case '[':
        return this.array();
      case '"': {
        const value = this.string();
        this.checkCharacters(value, 'string');
        return value;
      }
      default:
        return this.primitive();
    }
  }

  private object(): Record<string, unknown> {
    this.checkDepth();
    this.at++;
    const names: string[] = [];
    const values: unknown[] = [];
    this.skipWhitespace();
    if (this.accept('}')) return objectOf(names, values);
    do {
      this.skipWhitespace();
      if (this.text[this.at] !== '"') {
        throw this.syntaxError(names.length === 0 ? 'a member name or "}"' : 'a member name');
      }
      const name = this.string();
      this.checkCharacters(name, 'member name');
      this.skipWhitespace();
      if (!this.accept(':')) throw this.syntaxError('":"');
      names.push(name);
      values.push(this.child(name));
    } while (this.accept(','));
    if (!this.accept('}')) throw this.syntaxError('"," or "}"');
    return objectOf(names, values);
  }

  private array(): unknown[] {
    this.checkDepth();
    this.at++;
    const values: unknown[] = [];
    this.skipWhitespace();
    if (this.accept(']')) return values;
    do {
      values.push(this.child(values.length));
    } while (this.accept(','));
    if (!this.accept(']')) throw this.syntaxError('"," or "]"');
    return values;
  }

  private child(step: string | number): unknown {
    this.path.push(step);
    this.skipWhitespace();
    const value = this.value();
    this.skipWhitespace();
    this.path.pop();
    return value;
  }

  private string(): string {
    const start = this.at++;
    this.skip(STRING_CONTENT);
    let isEscaped = false;
    while (this.text[this.at] === '\\') {
      isEscaped = true;
      if (!this.skip(ESCAPE)) throw this.syntaxError('a valid escape such as "\\n" or "\\u00e9"');
      this.skip(STRING_CONTENT);
    }
    if (!this.accept('"')) {
      throw this.syntaxError(
        this.at < this.text.length ? 'an escape such as "\\n"' : 'the closing quote of a string',
      );
    }
    return isEscaped
      ? (JSON.parse(this.text.slice(start, this.at)) as string)
      : this.text.slice(start + 1, this.at - 1);
  }

  private primitive(): unknown {
    const start = this.at;
    if (!this.skip(NUMBER)) return this.literal();
    const number = this.text.slice(start, this.at);
    const fault = this.isStrict ? numberFault(number) : undefined;
    if (fault !== undefined) throw this.refusal(fault);
    return Number(number);
  }

  private literal(): unknown {
    for (const [literal, value] of LITERALS) {
      if (this.text.startsWith(literal, this.at)) {
        this.at += literal.length;
        return value;
      }
    }
    throw this.syntaxError('a value');
  }

  private checkDepth(): void {
    if (this.isStrict && this.path.length >= MAX_DEPTH) {
      throw this.refusal(
        `The value is nested more than ${MAX_DEPTH} levels deep. Nest at most ${MAX_DEPTH}.`,
      );
    }
  }

  private checkCharacters(value: string, role: 'string' | 'member name'): void {
    if (!this.isStrict) return;
    const where = role === 'string' ? 'The string holds' : 'A member name of this object holds';
    if (value.includes('\0')) {
      throw this.refusal(`${where} a NUL character (\\u0000), which cannot be stored. Remove it.`);
    }
    const lone = LONE_SURROGATE.exec(value);
    if (lone) {
      const escape = `\\u${lone[0].charCodeAt(0).toString(16)}`;
      throw this.refusal(
        `${where} half of a surrogate pair (${escape}), which is not a character. Send both halves or neither.`,
      );
    }
  }

  private skipWhitespace(): void {
    if (this.text.charCodeAt(this.at) <= SPACE) this.skip(WHITESPACE);
  }

  /** Moves past the match of a sticky pattern. Returns false for no or an empty match. */
  private skip(pattern: RegExp): boolean {
    pattern.lastIndex = this.at;
    if (!pattern.test(this.text) || pattern.lastIndex === this.at) return false;
    this.at = pattern.lastIndex;
    return true;
  }

  private accept(character: string): boolean {
    if (this.text[this.at] !== character) return false;
    this.at++;
    return true;
  }

  private refusal(detail: string): JsonInputError {
    let pointer = '';
    for (const step of this.path) {
      const longer = `${pointer}/${escapedToken(step)}`;
      if (longer.length > MAX_POINTER_LENGTH) break;
      pointer = longer;
    }
    return new JsonInputError(pointer, detail);
  }

  /** @param ofBody continues `expected` if the text is a body */
  private syntaxError(expected: string, ofBody = ''): JsonInputError {
    const before = this.text.slice(0, this.at);
    const lineStart = before.lastIndexOf('\n') + 1;
    const line = before.split('\n').length;
    const place = `line ${line}, column ${this.at - lineStart + 1}`;
    const found = `${this.found()} at ${place}, where ${expected}`;
    return new JsonInputError(
      '',
      `The body is not JSON: ${found}${ofBody} is expected.`,
      `${found} is expected`,
    );
  }

  private found(): string {
    const code = this.text.codePointAt(this.at);
    if (code === undefined) return 'it ends';
    if (code < 0x20 || code === 0x7f) return `there is U+${code.toString(16).toUpperCase().padStart(4, '0')}`;
    return `there is ${JSON.stringify(String.fromCodePoint(code))}`;
  }
}
