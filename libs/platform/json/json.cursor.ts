import { JsonInputError } from './json-input.error';
import { MAX_DEPTH } from './json-limits';
import { escapedToken } from './json-pointer';

/** Longest pointer in an error, in characters. A longer one is truncated after a whole member. */
const MAX_POINTER_LENGTH = 512;

const SPACE = 0x20;
const WHITESPACE = /[ \t\n\r]*/y;
const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
const STRING_CONTENT = /[^"\\\u0000-\u001f]*/y;
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;
const PRIMITIVE = /[-+.0-9a-zA-Z]*/y;
const LONE_SURROGATE = /\p{Surrogate}/u;
const LITERALS = ['null', 'true', 'false'] as const;

/** A string of a JSON text. */
export interface JsonString {
  readonly value: string;
  /** The text of this value without needless escapes. */
  readonly text: string;
  /** Only an escape can encode a NUL character or half of a surrogate pair, because a body is valid UTF-8. */
  readonly isEscaped: boolean;
}

/** A position in a JSON text, and the path of the value there. Reads the tokens, and reports faults with their place. */
export class JsonCursor {
  at = 0;
  readonly path: (string | number)[] = [];

  constructor(readonly text: string) {}

  /** Reads a string, whose opening quote is at the position. */
  string(): JsonString {
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
    const text = this.text.slice(start, this.at);
    if (!isEscaped) return { value: text.slice(1, -1), text, isEscaped };
    const value = JSON.parse(text) as string;
    return { value, text: JSON.stringify(value), isEscaped };
  }

  /** Reads the name of a member and the colon after it. */
  name(isFirst: boolean): JsonString {
    this.skipWhitespace();
    if (this.text[this.at] !== '"') {
      throw this.syntaxError(isFirst ? 'a member name or "}"' : 'a member name');
    }
    const name = this.string();
    this.skipWhitespace();
    if (!this.accept(':')) throw this.syntaxError('":"');
    return name;
  }

  /** Reads the text of a number, or one of the literals. */
  primitive(): string {
    const start = this.at;
    if (this.skip(NUMBER)) return this.text.slice(start, this.at);
    const literal = LITERALS.find((one) => this.text.startsWith(one, this.at));
    if (literal === undefined) throw this.syntaxError('a value');
    this.at += literal.length;
    return literal;
  }

  /** Throws for the first value that is nested too deeply. */
  checkDepth(): void {
    if (this.path.length >= MAX_DEPTH) {
      throw this.rejection(
        `The value is nested more than ${MAX_DEPTH} levels deep. Nest at most ${MAX_DEPTH}.`,
      );
    }
  }

  /** Throws for half of a surrogate pair, and for a NUL character unless it is allowed. */
  checkCharacters(
    { value, isEscaped }: JsonString,
    role: 'string' | 'member name',
    isNulAllowed: boolean,
  ): void {
    if (!isEscaped) return;
    const where = role === 'string' ? 'The string contains' : 'A member name of this object contains';
    if (!isNulAllowed && value.includes('\0')) {
      throw this.rejection(
        `${where} a NUL character (\\u0000), which is allowed only in free-form members. Remove it.`,
      );
    }
    const lone = LONE_SURROGATE.exec(value);
    if (lone) {
      const escape = `\\u${lone[0].charCodeAt(0).toString(16)}`;
      throw this.rejection(
        `${where} half of a surrogate pair (${escape}), which is not a character. Send both halves or neither.`,
      );
    }
  }

  skipWhitespace(): void {
    if (this.text.charCodeAt(this.at) <= SPACE) this.skip(WHITESPACE);
  }

  accept(character: string): boolean {
    if (this.text[this.at] !== character) return false;
    this.at++;
    return true;
  }

  /** Returns the error for rejecting the value at the position. */
  rejection(detail: string): JsonInputError {
    return new JsonInputError(this.pointer(), detail);
  }

  /** Returns the pointer to the value at the position. */
  pointer(): string {
    let pointer = '';
    for (const step of this.path) {
      const longer = `${pointer}/${escapedToken(step)}`;
      if (longer.length > MAX_POINTER_LENGTH) break;
      pointer = longer;
    }
    return pointer;
  }

  /** @param ofBody continues `expected` if the text is a body */
  syntaxError(expected: string, ofBody = ''): JsonInputError {
    const before = this.text.slice(0, this.at);
    const lineStart = before.lastIndexOf('\n') + 1;
    const line = before.split('\n').length;
    const place = `line ${line}, column ${this.at - lineStart + 1}`;
    const fault = `${this.tokenFound()} at ${place}, where ${expected}`;
    return new JsonInputError(
      '',
      `The body is not JSON: ${fault}${ofBody} is expected.`,
      `${fault} is expected`,
    );
  }

  /** Moves past the match of a sticky pattern. Returns false for no or an empty match. */
  private skip(pattern: RegExp): boolean {
    pattern.lastIndex = this.at;
    if (!pattern.test(this.text) || pattern.lastIndex === this.at) return false;
    this.at = pattern.lastIndex;
    return true;
  }

  /** Describes the character at the position, or the end of the text. */
  private tokenFound(): string {
    const code = this.text.codePointAt(this.at);
    if (code === undefined) return 'it ends';
    if (code < 0x20 || code === 0x7f) return `there is U+${code.toString(16).toUpperCase().padStart(4, '0')}`;
    return `there is ${JSON.stringify(String.fromCodePoint(code))}`;
  }
}

/** Tells a number from the other primitives. */
export const isNumber = (primitive: string): boolean =>
  primitive[0] === '-' || (primitive[0]! >= '0' && primitive[0]! <= '9');

/** Returns the end of the value that begins at `start` of a valid JSON text, however deeply it is nested. */
export function endOfValue(text: string, start: number): number {
  let depth = 0;
  for (let at = start; ; at++) {
    const character = text[at];
    if (character === '"') {
      for (at++; text[at] !== '"'; at++) if (text[at] === '\\') at++;
    } else if (character === '[' || character === '{') {
      depth++;
      continue;
    } else if (character === ']' || character === '}') {
      depth--;
    } else if (depth === 0) {
      PRIMITIVE.lastIndex = at;
      PRIMITIVE.test(text);
      return PRIMITIVE.lastIndex;
    }
    if (depth === 0) return at + 1;
  }
}
