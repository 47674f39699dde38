import { RE2JS, RE2JSException } from 're2js';
import { estimateProgramSize } from './program.size';

/** Longest pattern, in UTF-16 code units. */
export const MAX_PATTERN_LENGTH = 1_000;
/** Most instructions a pattern may compile to; `a{1000}` has 1,000. Matching takes at most text length times this. */
const MAX_PROGRAM_SIZE = 5_000;

const FLAGS: Record<string, number> = {
  i: RE2JS.CASE_INSENSITIVE,
  m: RE2JS.MULTILINE,
  s: RE2JS.DOTALL,
  u: 0,
};

/** The engine would take it for the letter k. */
const NAMED_BACKREFERENCE = /(?<!\\)(?:\\\\)*\\k</;

/** A pattern that cannot be used; the message says why, for the pattern's author. */
export class PatternRefused extends Error {
  override name = 'PatternRefused';
}

/**
 * A regular expression for patterns that users write: matched in time linear in the text, never by backtracking.
 *
 * The syntax is JavaScript's without what needs backtracking: no lookahead, no lookbehind, no backreferences, and no
 * repetition of more than 1,000. `\d`, `\s`, `\w` and `\b` are ASCII, `.` excludes only the line feed, `$` without the
 * flag `m` is the end of the text.
 */
export class LinearRegExp {
  private constructor(
    readonly source: string,
    readonly flags: string,
    private readonly program: RE2JS,
    /** Instructions of the compiled pattern: times a text's length, what matching costs at most, in about 50 ns. */
    readonly programSize: number,
    /** What compiling it cost, in about 10 µs; at least the instructions. */
    readonly compileCost: number,
  ) {}

  /**
   * Compiles a pattern with flags out of `i`, `m`, `s` and `u` (which changes nothing: text is always read as Unicode).
   *
   * @throws PatternRefused where the pattern is malformed, too long, too large or not of the supported syntax
   */
  static compile(source: string, flags = ''): LinearRegExp {
    if (source.length > MAX_PATTERN_LENGTH) {
      throw new PatternRefused(
        `a pattern can have at most ${MAX_PATTERN_LENGTH} characters, but this one has ${source.length}`,
      );
    }
    if (NAMED_BACKREFERENCE.test(source))
      throw new PatternRefused('backreferences are not supported: `\\k<name>`');
    let bits = 0;
    for (const flag of flags) {
      const bit = FLAGS[flag];
      if (bit === undefined) throw new PatternRefused(`the flag "${flag}" is not supported; use i, m or s`);
      bits |= bit;
    }
    try {
      const translated = RE2JS.translateRegExp(source);
      const estimate = estimateProgramSize(translated);
      if (estimate > MAX_PROGRAM_SIZE) throw tooLarge();
      const program = RE2JS.compile(translated, bits);
      const size = program.programSize();
      if (size > MAX_PROGRAM_SIZE) throw tooLarge();
      return new LinearRegExp(source, flags, program, size, Math.max(estimate, size));
    } catch (error) {
      if (error instanceof RE2JSException) throw new PatternRefused(explain(error.message));
      throw error;
    }
  }

  /** Whether the pattern matches anywhere in the text. */
  test(text: string): boolean {
    return this.program.test(text);
  }
}

function tooLarge(): PatternRefused {
  return new PatternRefused(
    `its repetitions make the pattern too large: it can have at most ${MAX_PROGRAM_SIZE} steps`,
  );
}

/** The engine's own message, with what it means where the syntax is known from other engines. */
function explain(message: string): string {
  const plain = message.replace(/^error parsing regexp: /, '');
  if (/\(\?(<?[=!])/.test(plain)) return `lookahead and lookbehind are not supported: ${plain}`;
  if (/invalid escape sequence: `\\[1-9k]/.test(plain)) return `backreferences are not supported: ${plain}`;
  return plain;
}
