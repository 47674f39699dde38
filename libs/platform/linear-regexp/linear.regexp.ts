import { RE2JS, RE2JSException } from 're2js';
import { MatchFinder } from './match.finder';
import { estimateProgramSize } from './program.size';

/** Longest pattern, in UTF-16 code units. */
export const MAX_PATTERN_LENGTH = 1_000;
/** Maximum instructions of a compiled pattern; `a{1000}` has 1,000. Matching takes at most this times the text length. */
const MAX_PROGRAM_SIZE = 5_000;

const FLAGS: Record<string, number> = {
  i: RE2JS.CASE_INSENSITIVE,
  m: RE2JS.MULTILINE,
  s: RE2JS.DOTALL,
  u: 0,
};

/** A reference that the engine would read as the letter k. */
const NAMED_BACKREFERENCE = /(?<!\\)(?:\\\\)*\\k</;

/** A pattern cannot be used. The message explains the reason to its author. */
export class PatternError extends Error {
  override name = 'PatternError';
}

/**
 * A regular expression for patterns that users write. It matches in linear time, without backtracking.
 *
 * The syntax is JavaScript's, without lookahead, lookbehind, backreferences and repetitions of more than 1,000. `\d`,
 * `\s`, `\w` and `\b` are ASCII, `.` excludes only the line feed, `$` without the flag `m` is the end of the text.
 */
export class LinearRegExp {
  private constructor(
    readonly source: string,
    readonly flags: string,
    private readonly program: RE2JS,
    /** Instructions of the compiled pattern. Matching takes at most this times the text length, in units of about 50 ns. */
    readonly programSize: number,
    /** Cost of compiling the pattern, in units of about 10 µs; at least the number of instructions. */
    readonly compileCost: number,
  ) {}

  /**
   * Compiles a pattern with the flags `i`, `m`, `s` and `u`. `u` has no effect, because text is always Unicode.
   *
   * @throws PatternError if the pattern is malformed, too long, too large or has unsupported syntax
   */
  static compile(source: string, flags = ''): LinearRegExp {
    if (source.length > MAX_PATTERN_LENGTH) {
      throw new PatternError(
        `a pattern can have at most ${MAX_PATTERN_LENGTH} characters, but this one has ${source.length}`,
      );
    }
    if (NAMED_BACKREFERENCE.test(source)) throw new PatternError('backreferences are not supported');
    let bits = 0;
    for (const flag of flags) {
      const bit = FLAGS[flag];
      if (bit === undefined) throw new PatternError(`the flag "${flag}" is not supported. Use i, m, s or u`);
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
      if (error instanceof RE2JSException) throw new PatternError(explain(error.message));
      throw error;
    }
  }

  /** Returns the pattern as a literal. Ajv tells the patterns of a schema apart by it. */
  toString(): string {
    return `/${this.source}/${this.flags}`;
  }

  /** Tells whether the pattern matches anywhere in the text. */
  test(text: string): boolean {
    return this.program.test(text);
  }

  /** Tells whether the pattern can match the empty text between two characters. */
  matchesEmptyText(): boolean {
    return ['', 'a', ' ', 'a a', '\n'].some((text) => {
      const matcher = this.program.matcher(text);
      while (matcher.find()) if (matcher.start() === matcher.end()) return true;
      return false;
    });
  }

  /** Returns what finds the matches of the pattern in texts. */
  finder(): MatchFinder {
    return new MatchFinder(this.program.re2(), this.programSize);
  }
}

function tooLarge(): PatternError {
  return new PatternError(
    `its repetitions make the pattern too large: it can have at most ${MAX_PROGRAM_SIZE} steps`,
  );
}

/** Returns the engine's message or, for syntax that only other engines support, an explanation. */
function explain(message: string): string {
  const plain = message.replace(/^error parsing regexp: /, '');
  if (/: `\(\?<?[=!]/.test(plain)) return 'lookahead and lookbehind are not supported';
  if (/invalid escape sequence: `\\[1-9k]/.test(plain)) return 'backreferences are not supported';
  return plain;
}
