import { MAX_DEPTH } from './json-limits';
import { isKeptByDouble } from './number.rule';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const MINUS = 0x2d;
const PLUS = 0x2b;
const DOT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
const LOWER_U = 0x75;
const LOWER_D = 0x64;

/** Integers up to this length are below 2^53. So are the digits of fractions that are one character longer. */
const SAFE_INTEGER_LENGTH = 15;

/** Matches a member name between the quotes that may be an array index: digits, plain or escaped. */
const MAYBE_INDEX = /^(?:[0-9]|\\u003[0-9])+$/;
/** JavaScript may write a fraction that starts with these digits with an exponent. */
const TINY = '0.000000';
const LONGEST_INDEX = '\\u0030'.length * '4294967294'.length;

/**
 * Tells whether `JSON.parse` reads this text without loss, if it is JSON. Scans once for nesting over the limit, lone
 * surrogates, numbers that JavaScript writes in another way, such as `1.0`, `1e5` or `-0`, and member names that it reorders.
 *
 * Leaves the grammar to `JSON.parse`. For valid JSON the result is exact, except that it may be false because of a harmless
 * member name. The scan jumps from quote to quote with `indexOf`, because most of a body is inside strings, and the engine
 * searches many times faster than a loop over characters.
 *
 * @param text well-formed UTF-16, so that only an escape can contain a lone surrogate
 */
export function isPlainText(text: string): boolean {
  const end = text.length;
  let depth = 0;
  let at = 0;
  let backslash = indexOfBackslash(text, 0);
  while (at < end) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      const open = at + 1;
      let close = text.indexOf('"', open);
      if (close < 0) return false;
      while (backslash < close) {
        const length = lengthOfPlainEscape(text, backslash);
        if (length === 0) return false;
        if (backslash + 1 === close) {
          close = text.indexOf('"', close + 1);
          if (close < 0) return false;
        }
        backslash = indexOfBackslash(text, backslash + length);
      }
      if (isMaybeIndexName(text, open, close)) return false;
      at = close + 1;
    } else if (code >= ZERO && code <= NINE) {
      at = endOfKeptNumber(text, at);
      if (at < 0) return false;
    } else {
      // With this bit set, [ equals { and ] equals }.
      const bracket = code | 0x20;
      if (bracket === 0x7b) {
        if (++depth > MAX_DEPTH) return false;
      } else if (bracket === 0x7d) {
        depth--;
      }
      at++;
    }
  }
  return true;
}

function indexOfBackslash(text: string, from: number): number {
  if (text.charCodeAt(from) === BACKSLASH) return from;
  const index = text.indexOf('\\', from);
  return index < 0 ? text.length : index;
}

/** Returns the length of the escape at `at`. A surrogate pair counts as one escape. 0 for a lone surrogate. */
function lengthOfPlainEscape(text: string, at: number): number {
  if (text.charCodeAt(at + 1) !== LOWER_U) return 2;
  const first = text.charCodeAt(at + 2);
  if ((first | 0x20) !== LOWER_D) return 6;
  // By the second digit: 0 to 7 is not a surrogate, 8 to B is the first half of a pair, C to F the second.
  const second = text.charCodeAt(at + 3) | 0x20;
  if (second < 0x38) return 6;
  if (second > 0x62) return 0;
  const isPair =
    text.charCodeAt(at + 6) === BACKSLASH &&
    text.charCodeAt(at + 7) === LOWER_U &&
    (text.charCodeAt(at + 8) | 0x20) === LOWER_D &&
    (text.charCodeAt(at + 9) | 0x20) > 0x62;
  return isPair ? 12 : 0;
}

function isMaybeIndexName(text: string, open: number, close: number): boolean {
  const first = text.charCodeAt(open);
  if (first !== BACKSLASH && !(first >= ZERO && first <= NINE)) return false;
  let next = close + 1;
  while (text.charCodeAt(next) <= 0x20) next++;
  return (
    text.charCodeAt(next) === COLON &&
    close - open <= LONGEST_INDEX &&
    MAYBE_INDEX.test(text.slice(open, close))
  );
}

/** Returns the end of the number whose first digit is at `start`; -1 if JavaScript may write it differently. */
function endOfKeptNumber(text: string, start: number): number {
  const first = text.charCodeAt(start);
  const begin = text.charCodeAt(start - 1) === MINUS ? start - 1 : start;
  let at = start + 1;
  let isFraction = false;
  let hasExponent = false;
  let last = first;
  for (; ; at++) {
    const code = text.charCodeAt(at);
    if (code >= ZERO && code <= NINE) {
      last = code;
      continue;
    }
    if (code === DOT) isFraction = true;
    else if ((code | 0x20) === 0x65) hasExponent = true;
    else if (code !== PLUS && code !== MINUS) break;
  }
  if (hasExponent) return -1;
  const length = at - start;
  // A double keeps 15 digits. It is written with an exponent below 1e-6, and never with a zero at the end.
  const isKept =
    length > SAFE_INTEGER_LENGTH + (isFraction ? 1 : 0)
      ? isKeptByDouble(text.slice(begin, at))
      : isFraction
        ? last !== ZERO && !text.startsWith(TINY, start)
        : first !== ZERO || begin === start;
  return isKept ? at : -1;
}
