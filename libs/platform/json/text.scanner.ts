import { MAX_DEPTH } from './json-limits';
import { numberFault } from './number.rule';

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

/** Integers of so few characters are below 2^53. */
const SAFE_INTEGER_LENGTH = 15;
/** Fractions without exponent of so few characters lie well within the range of a double. */
const SAFE_FRACTION_LENGTH = 300;
/** With an exponent of one or two digits, so do numbers of so few characters. */
const SAFE_SCIENTIFIC_LENGTH = 200;

/** A member name, as written between the quotes, that may be an array index: digits, plain or escaped. */
const MAYBE_INDEX = /^(?:[0-9]|\\u003[0-9])+$/;
const LONGEST_INDEX = '\\u0030'.length * '4294967294'.length;

/**
 * Looks once over JSON text for what `JSON.parse` would let pass or change: nesting over the limit, NUL
 * characters and lone surrogates, numbers that a double cannot hold, member names that JavaScript reorders.
 *
 * It does not check the grammar, for which `JSON.parse` stands, but what it says of valid JSON is exact
 * (only about names it is cautious). It goes from quote to quote by `indexOf`, because the inside of strings
 * is most of a body and the engine searches it many times faster than a loop over characters.
 *
 * @param text Well-formed UTF-16, so that only an escape can bring in a lone surrogate.
 * @returns Whether `JSON.parse` reads this text, if it is JSON, without loss.
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
      at = endOfHeldNumber(text, at);
      if (at < 0) return false;
    } else {
      // Setting one bit makes [ and { alike, and ] and }.
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
  const found = text.indexOf('\\', from);
  return found < 0 ? text.length : found;
}

/**
 * The length of the escape at `at`, where a surrogate pair counts as one escape; 0 for an escaped NUL or a
 * surrogate without its other half.
 */
function lengthOfPlainEscape(text: string, at: number): number {
  if (text.charCodeAt(at + 1) !== LOWER_U) return 2;
  const first = text.charCodeAt(at + 2);
  if (first === ZERO) return text.startsWith('0000', at + 2) ? 0 : 6;
  if ((first | 0x20) !== LOWER_D) return 6;
  // The second digit tells: 0 to 7 is no surrogate, 8 to B the first half of a pair, C to F the second.
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

/** Where the number that begins at `start` ends; -1 when a double cannot hold it. */
function endOfHeldNumber(text: string, start: number): number {
  let at = start + 1;
  let isFraction = false;
  let exponent = -1;
  for (; ; at++) {
    const code = text.charCodeAt(at);
    if (code >= ZERO && code <= NINE) continue;
    if (code === DOT) isFraction = true;
    else if ((code | 0x20) === 0x65) exponent = at;
    else if (code !== PLUS && code !== MINUS) break;
  }
  const length = at - start;
  let isSurelyHeld = length <= (isFraction ? SAFE_FRACTION_LENGTH : SAFE_INTEGER_LENGTH);
  if (exponent >= 0) {
    const sign = text.charCodeAt(exponent + 1);
    const exponentLength = at - exponent - (sign === PLUS || sign === MINUS ? 2 : 1);
    isSurelyHeld = length <= SAFE_SCIENTIFIC_LENGTH && exponentLength <= 2;
  }
  return isSurelyHeld || numberFault(text.slice(start, at)) === undefined ? at : -1;
}
