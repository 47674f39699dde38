import { JsonInputError } from './json-input.error';
import { shortPointerOf } from './json-pointer';

const SPACE = 0x20;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const LOWER_U = 0x75;
const OPENING = 0x7b;
const CLOSING = 0x7d;
const WHITESPACE = /[ \t\n\r]*/y;
const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
const SHORT_ESCAPES = '"\\/bfnrt';
const HEX_DIGITS = /[0-9a-fA-F]{4}/y;
const BEGINS_STRUCTURE: ReadonlySet<string | undefined> = new Set(['"', '{', '[']);
const END_OF_PRIMITIVE = /[,}\]\s]|$/g;
const LITERALS = ['null', 'true', 'false'] as const;

/** A position in a JSON text, and the path of the value there. Reads the tokens, and reports faults with their place. */
export class JsonCursor {
  at = 0;
  /** Whether the string that was read last contains an escape. */
  isEscaped = false;
  readonly path: (string | number)[] = [];

  constructor(readonly text: string) {}

  /** Reads a string, whose opening quote is at the position. */
  string(): string {
    const { text, at: start } = this;
    this.isEscaped = false;
    this.at++;
    for (;;) {
      const code = text.charCodeAt(this.at);
      if (code === QUOTE) break;
      if (code === BACKSLASH) this.skipEscape();
      else if (code >= SPACE) this.at++;
      else {
        const isCutOff = this.at === text.length;
        throw this.syntaxError(isCutOff ? 'the closing quote of a string' : 'an escape such as "\\n"');
      }
    }
    this.at++;
    return this.isEscaped
      ? (JSON.parse(text.slice(start, this.at)) as string)
      : text.slice(start + 1, this.at - 1);
  }

  /** Reads the name of a member and the colon after it. */
  name(isFirst: boolean): string {
    this.skipWhitespace();
    if (this.text.charCodeAt(this.at) !== QUOTE) {
      throw this.syntaxError(isFirst ? 'a member name or "}"' : 'a member name');
    }
    const name = this.string();
    this.skipWhitespace();
    if (!this.accept(':')) throw this.syntaxError('":"');
    return name;
  }

  /** Reads the text of a number. Returns undefined, and stays at the position, if there is none. */
  number(): string | undefined {
    NUMBER.lastIndex = this.at;
    if (!NUMBER.test(this.text)) return undefined;
    const literal = this.text.slice(this.at, NUMBER.lastIndex);
    this.at = NUMBER.lastIndex;
    return literal;
  }

  /** Reads null, true or false. */
  literal(): boolean | null {
    const literal = LITERALS.find((one) => this.text.startsWith(one, this.at));
    if (literal === undefined) throw this.syntaxError('a value');
    this.at += literal.length;
    return literal === 'null' ? null : literal === 'true';
  }

  /** Moves past the value at the position, however deeply it is nested. Checks only that it ends. */
  skipValue(): void {
    if (!BEGINS_STRUCTURE.has(this.text[this.at])) {
      END_OF_PRIMITIVE.lastIndex = this.at;
      this.at = END_OF_PRIMITIVE.exec(this.text)!.index;
      return;
    }
    const { text } = this;
    let depth = 0;
    do {
      if (this.at >= text.length) throw this.syntaxError('the end of a value');
      const code = text.charCodeAt(this.at++);
      // with this bit set, [ equals { and ] equals }
      const bracket = code | 0x20;
      if (code === QUOTE) this.skipRestOfString();
      else if (bracket === OPENING) depth++;
      else if (bracket === CLOSING) depth--;
    } while (depth > 0);
  }

  skipWhitespace(): void {
    if (this.text.charCodeAt(this.at) > SPACE) return;
    WHITESPACE.lastIndex = this.at;
    WHITESPACE.test(this.text);
    this.at = WHITESPACE.lastIndex;
  }

  accept(character: string): boolean {
    if (this.text[this.at] !== character) return false;
    this.at++;
    return true;
  }

  /** Returns the error for rejecting the value at the position. */
  rejection(detail: string): JsonInputError {
    return new JsonInputError(shortPointerOf(this.path), detail);
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

  private skipEscape(): void {
    this.isEscaped = true;
    const { text, at } = this;
    HEX_DIGITS.lastIndex = at + 2;
    if (text.charCodeAt(at + 1) === LOWER_U && HEX_DIGITS.test(text)) this.at += 6;
    else if (at + 1 < text.length && SHORT_ESCAPES.includes(text[at + 1]!)) this.at += 2;
    else throw this.syntaxError('a valid escape such as "\\n" or "\\u00e9"');
  }

  /** Moves past the closing quote: the first with an even number of backslashes before it. */
  private skipRestOfString(): void {
    let isEscaped: boolean;
    do {
      const quote = this.text.indexOf('"', this.at);
      if (quote < 0) throw this.syntaxError('the closing quote of a string');
      let before = quote;
      while (before > this.at && this.text.charCodeAt(before - 1) === BACKSLASH) before--;
      isEscaped = (quote - before) % 2 === 1;
      this.at = quote + 1;
    } while (isEscaped);
  }

  /** Describes the character at the position, or the end of the text. */
  private tokenFound(): string {
    const code = this.text.codePointAt(this.at);
    if (code === undefined) return 'it ends';
    if (code < 0x20 || code === 0x7f) return `there is U+${code.toString(16).toUpperCase().padStart(4, '0')}`;
    return `there is ${JSON.stringify(String.fromCodePoint(code))}`;
  }
}
