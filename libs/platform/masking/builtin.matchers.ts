/** Receives the place of a value to mask. */
export type OnMatch = (start: number, end: number) => void;

/** Finds the values that begin between two positions. The next part begins where the last one ended. */
export type SearchPart = (from: number, to: number) => void;

/** The kinds of values that the service can find without a pattern. */
export const BUILTINS = ['email', 'phone', 'card', 'api_key'] as const;
export type Builtin = (typeof BUILTINS)[number];

// All quantifiers are bounded or repeat one class of characters, so that no search backtracks: the time is linear.

/**
 * The start of a word. Texts are often JSON within a string, where an escape such as `\n` or `\u00e4` precedes a word without
 * belonging to it.
 */
const WORD_START = String.raw`(?<=^|[^\w]|\\[nrtbf]|\\u[0-9a-fA-F]{4})`;

/** Like `WORD_START`, but not after a `.`, `-` or `/` either, which join numbers to dates, versions, ids and paths. */
const NUMBER_START = String.raw`(?<=^|[^\w.\-/+]|\\[nrtbf]|\\u[0-9a-fA-F]{4})`;

/** Not within a longer number, id, date, version or time. */
const NUMBER_END = String.raw`(?![\w]|[.\-/:]\d|-\w)`;

/** Whether a text has enough digits, or a `+` before digits, for a phone or card number. */
const DIGITS = /\d(?:[ ./()-]{0,3}\d){8}|\+\d/;

/** Characters around a part of a text that a search reads too. No address and no number is as long. */
const CONTEXT = 1024;

/** Returns whether a part of a text may have phone or card numbers. */
export const mayHaveNumbers = (text: string, from: number, to: number): boolean =>
  DIGITS.test(text.slice(Math.max(0, from - CONTEXT), to + CONTEXT));

/** Length of the shortest address or number. */
const LENGTH_MIN = 6;

/** Searches parts of a text as texts of their own. For values that are shorter than `CONTEXT`. */
const searchParts =
  (find: (text: string, onMatch: OnMatch) => void) =>
  (text: string, onMatch: OnMatch): SearchPart =>
  (from, to) => {
    if (text.length < LENGTH_MIN) return;
    if (from === 0 && to === text.length) return find(text, onMatch);
    const first = Math.max(0, from - CONTEXT);
    find(text.slice(first, to + CONTEXT), (start, end) => {
      if (first + start >= from && first + start < to) onMatch(first + start, first + end);
    });
  };

/** Longest local part and domain of an address, in characters (RFC 5321). */
const LOCAL_MAX = 64;
const DOMAIN_MAX = 255;

/** A domain whose last label consists of letters. */
const DOMAIN =
  /(?:[a-z0-9\u00c0-\u052f](?:[a-z0-9\u00c0-\u052f-]{0,61})\.){1,10}(?:xn--[a-z0-9-]{2,59}|[a-z\u00c0-\u052f]{2,63})/iy;

/** Finds e-mail addresses. Every address has an `@`, so only its surroundings are read. */
function findEmails(text: string, onMatch: OnMatch): void {
  let last = 0;
  for (let at = text.indexOf('@', 1); at > 0; at = text.indexOf('@', at + 1)) {
    const start = localStart(text, at, Math.max(last, at - LOCAL_MAX));
    if (start === at) continue;
    DOMAIN.lastIndex = at + 1;
    const domain = DOMAIN.exec(text);
    if (!domain || domain[0].length > DOMAIN_MAX) continue;
    last = DOMAIN.lastIndex;
    onMatch(start, last);
  }
}

/** Returns where the local part of an address starts, at the earliest at `from`. Returns `at` without one. */
function localStart(text: string, at: number, from: number): number {
  let start = at;
  while (start > from) {
    const unit = text.charCodeAt(start - 1);
    if (isLocal(unit)) start -= 1;
    else break;
  }
  // the letters of an escape in JSON, such as \n or \u00e4, belong to the character that it stands for
  if (text[start - 1] === '\\' && start > 0) {
    const escape = /^(?:u[0-9a-f]{4}|[nrtbf])/i.exec(text.slice(start, Math.min(start + 5, at)));
    const letter = escape && escape[0].length === 5 && isLocal(Number.parseInt(escape[0].slice(1), 16));
    if (letter) return localStart(text, start - 1, from);
    start += escape?.[0].length ?? 0;
  }
  while (start < at && !isAlphanumeric(text.charCodeAt(start))) start += 1;
  return start;
}

const isDigit = (unit: number): boolean => unit >= 48 && unit <= 57;

const isAlphanumeric = (unit: number): boolean =>
  isDigit(unit) || (unit >= 65 && unit <= 90) || (unit >= 97 && unit <= 122) || unit === 95 || isLetter(unit);

/** Latin, Greek and Cyrillic letters beyond ASCII. Scripts without spaces between words are not part of an address. */
const isLetter = (unit: number): boolean => unit >= 0xc0 && unit <= 0x52f;

/** The characters of local parts: letters, digits, and `.`, `_`, `%`, `+`, `-`, `'`. */
const isLocal = (unit: number): boolean =>
  isAlphanumeric(unit) || unit === 46 || unit === 37 || unit === 43 || unit === 45 || unit === 39;

/** `+` and 8 to 15 digits (E.164). */
const INTERNATIONAL = new RegExp(
  String.raw`\+(?<=${WORD_START}\+)(?<!\+\+)\d(?:[ ./()\-]{0,3}\d){7,14}(?!\w)`,
  'g',
);

/**
 * Numbers of North America, with separators: (555) 234-5678, 555-234-5678, 1-555-234-5678. The lookahead is faster than the
 * check of the start, so it comes first.
 */
const NORTH_AMERICAN = new RegExp(
  String.raw`(?=\([2-9]|1[ .\-]|[2-9]\d\d[ .\-])${NUMBER_START}(?:1[ .\-])?(?:\([2-9]\d\d\) ?|[2-9]\d\d[ .\-])[2-9]\d\d[ .\-]\d{4}${NUMBER_END}`,
  'g',
);

/**
 * Numbers with a trunk or international prefix, with separators: 030 1234567, (0151) 123 456 78, 020 7946 0958,
 * 01 23 45 67 89, 0049 151 12345678, 0049 15112345678.
 */
const PREFIXED = new RegExp(
  String.raw`(?=[0(])${NUMBER_START}\(?0(?:0[1-9]\d{0,2}\)?[ ./\-]{1,3}\d{9,12}|\d{1,4}\)?(?:[ ./\-]{1,3}\d{2,8}){1,5})${NUMBER_END}`,
  'g',
);
const DIGITS_MIN = 9;
const DIGITS_MAX = 12;

/** `00` and at most 15 digits (E.164). */
const INTERNATIONAL_DIGITS_MAX = 17;

/** A date, which may be followed by a time. */
const DATE = /^\d{1,2}[./-](?:0?[1-9]|[12]\d|3[01])[./-]\d{2,4}(?![./-]\d)/;

/** Finds phone numbers: those with `+`, and others with separators. */
function findPhones(text: string, onMatch: OnMatch): void {
  if (text.includes('+')) each(INTERNATIONAL, text, onMatch);
  each(NORTH_AMERICAN, text, onMatch);
  PREFIXED.lastIndex = 0;
  for (let match = PREFIXED.exec(text); match; match = PREFIXED.exec(text)) {
    const [groups] = match;
    // if it is none, a number may begin with its next group of digits
    const length = prefixedLength(groups);
    if (length > 0) onMatch(match.index, match.index + length);
    PREFIXED.lastIndex = match.index + (length || groupEnd(groups, groups[0] === '(' ? 1 : 0));
  }
}

/** Returns the length of the longest phone number with which groups of digits begin, or 0. */
function prefixedLength(groups: string): number {
  const max = groups.startsWith('00') || groups.startsWith('(00') ? INTERNATIONAL_DIGITS_MAX : DIGITS_MAX;
  let length = 0;
  let digits = 0;
  for (let at = 0; at < groups.length && digits <= max; at++) {
    const end = groupEnd(groups, at);
    digits += end - at;
    if (end > at && digits >= DIGITS_MIN && digits <= max) length = end;
    at = end;
  }
  return length > 0 && DATE.test(groups) ? 0 : length;
}

/** Returns where a group of digits ends. */
function groupEnd(text: string, at: number): number {
  while (isDigit(text.charCodeAt(at))) at += 1;
  return at;
}

function each(pattern: RegExp, text: string, onMatch: OnMatch): void {
  pattern.lastIndex = 0;
  for (let match = pattern.exec(text); match; match = pattern.exec(text))
    onMatch(match.index, pattern.lastIndex);
}

/** 13 digits, as the start of a card number. The first digits that card networks use are 2 to 6. */
const CARD_START = new RegExp(String.raw`[2-6](?<=${NUMBER_START}[2-6])(?:[ \-]?\d){12}`, 'g');
const CARD_MAX = 19;

/** Finds card numbers: 13 to 19 digits, also in groups, with a valid check digit (ISO/IEC 7812, Luhn). */
function findCards(text: string, onMatch: OnMatch): void {
  CARD_START.lastIndex = 0;
  for (let match = CARD_START.exec(text); match; match = CARD_START.exec(text)) {
    const start = match.index;
    const end = cardEnd(text, start);
    if (end > 0) onMatch(start, end);
    CARD_START.lastIndex = end > 0 ? end : start + 1;
  }
}

/** Returns where the longest card number that begins at `start` ends, or 0. A number ends where a group of digits ends. */
function cardEnd(text: string, start: number): number {
  let end = 0;
  let digits = 0;
  // of the digits at even and at odd places, doubled or not, because the number's length decides which are doubled
  let doubledEven = 0;
  let doubledOdd = 0;
  for (let at = start; digits < CARD_MAX && at < text.length; at++) {
    const digit = text.charCodeAt(at) - 48;
    if (digit < 0 || digit > 9) {
      const isSeparator = text[at] === ' ' || text[at] === '-';
      if (isSeparator && isDigit(text.charCodeAt(at + 1))) continue;
      break;
    }
    const doubled = digit > 4 ? 2 * digit - 9 : 2 * digit;
    doubledEven += digits % 2 === 0 ? doubled : digit;
    doubledOdd += digits % 2 === 0 ? digit : doubled;
    digits += 1;
    const next = text.charCodeAt(at + 1);
    if (digits < 13 || isDigit(next) || isAlphanumeric(next)) continue;
    if ((digits % 2 === 0 ? doubledEven : doubledOdd) % 10 === 0) end = at + 1;
  }
  return end;
}

/**
 * Longest run of characters that one search reads. A longer run is read in parts, because a repetition of several million
 * characters overflows the stack of regular expressions.
 */
const RUN_MAX = 4096;

/** Returns where a run ends that a sticky pattern matches part by part. */
function runEnd(part: RegExp, text: string, at: number): number {
  part.lastIndex = at;
  while (part.test(text)) at = part.lastIndex;
  return at;
}

/** A secret that starts with a known prefix. The prefix comes first, because it is rare. */
const secret = (prefix: string, rest: string, start = WORD_START): string =>
  `${prefix}(?<=${start}${prefix})${rest}`;

const BEARER = 'bearer ';
const JWT = 'eyJ';

const SECRETS = new RegExp(
  [
    secret('rsk_', String.raw`[\w-]{16,${RUN_MAX}}`),
    secret('sk-', String.raw`[\w-]{16,${RUN_MAX}}`),
    secret('[rs]k_(?:live|test)_', String.raw`\w{16,${RUN_MAX}}`),
    secret('A[KS]IA', String.raw`[A-Z0-9]{16}(?!\w)`),
    secret('gh[oprsu]_', String.raw`\w{20,${RUN_MAX}}`),
    secret('github_pat_', String.raw`\w{20,${RUN_MAX}}`),
    secret('glpat-', String.raw`[\w-]{16,${RUN_MAX}}`),
    secret('xox[abeoprs]-', String.raw`[\w-]{10,${RUN_MAX}}`),
    secret('AIza', String.raw`[\w-]{30,${RUN_MAX}}`),
    // the start of a JWT; it is not within a run of its characters, because reading each run once keeps the time linear
    secret(JWT, String.raw`[\w-]{12}`, WORD_START.replace(String.raw`[^\w]`, String.raw`[^\w-]`)),
    secret('(?:[Bb]earer|BEARER) ', String.raw`[\w.~+/=-]{16,${RUN_MAX}}`),
    '-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----',
  ].join('|'),
  'g',
);

/** Length of the shortest secret. Words of natural languages are rarely as long. */
const SECRET_MIN = 15;

/** The characters of secrets, by their code. */
const IS_OF_SECRET = Uint8Array.from({ length: 128 }, (_, unit) =>
  Number(/[\w.~+/=-]/.test(String.fromCharCode(unit))),
);

const isOfSecret = (text: string, at: number): boolean => IS_OF_SECRET[text.charCodeAt(at)] === 1;

/** Returns whether a text has a word that is long enough for a secret. Reads only a few characters of shorter words. */
function hasLongWord(text: string): boolean {
  for (let at = SECRET_MIN - 1; at < text.length; at += SECRET_MIN) {
    if (!isOfSecret(text, at)) continue;
    let start = at;
    while (start > 0 && at - start < SECRET_MIN && isOfSecret(text, start - 1)) start -= 1;
    while (at + 1 < text.length && at + 1 - start < SECRET_MIN && isOfSecret(text, at + 1)) at += 1;
    if (at + 1 - start >= SECRET_MIN) return true;
  }
  return false;
}

const PRIVATE_KEY = '-----BEGIN ';
const KEY_END = '-----END ';
const KEY_END_LINE = /-----END [A-Z ]{0,30}PRIVATE KEY-----/y;

/** Lines of a private key whose end is missing. */
const KEY_LINES = /(?:[\w+/=:,. -]|\\[nr]|[\r\n]){1,4096}/y;

const BEARER_PART = /[\w.~+/=-]{1,4096}/y;
const SECRET_PART = /[\w-]{1,4096}/y;

/** Length of the shortest payload of a JWT. */
const PAYLOAD_MIN = 8;

/** Returns where the JWT whose header begins at `start` ends, or 0. */
function jwtEnd(text: string, start: number): number {
  const header = runEnd(SECRET_PART, text, start);
  if (text[header] !== '.') return 0;
  const payload = runEnd(SECRET_PART, text, header + 1);
  if (text[payload] !== '.' || payload - header <= PAYLOAD_MIN) return 0;
  return runEnd(SECRET_PART, text, payload + 1);
}

/** Finds secrets: API keys of well-known providers and of this service, JWTs, bearer tokens and private keys. */
export function searchApiKeys(text: string, onMatch: OnMatch): SearchPart {
  let hasEnd = true;
  let searchedTo = 0;
  return (from, to) => {
    if (searchedTo >= to) return;
    // a match reads at most a run and a prefix. What follows is read from the whole text
    const first = Math.max(0, from - CONTEXT);
    const part = text.slice(first, to + RUN_MAX + CONTEXT);
    if (!hasLongWord(part) && !part.includes(PRIVATE_KEY)) return;
    SECRETS.lastIndex = Math.max(from, searchedTo) - first;
    for (let match = SECRETS.exec(part); match; match = SECRETS.exec(part)) {
      const [head] = match;
      const start = first + match.index;
      if (start >= to) return;
      let end = first + SECRETS.lastIndex;
      if (head.startsWith('-----')) {
        const found: number = hasEnd ? text.indexOf(KEY_END, end) : -1;
        hasEnd = found >= 0;
        if (hasEnd) {
          KEY_END_LINE.lastIndex = found;
          end = KEY_END_LINE.test(text) ? KEY_END_LINE.lastIndex : found + KEY_END.length;
        } else {
          end = runEnd(KEY_LINES, text, end);
        }
        onMatch(start, end);
      } else if (head.startsWith(JWT)) {
        end = jwtEnd(text, start);
        if (end > 0) onMatch(start, end);
        else end = start + JWT.length;
      } else {
        const isBearer = head.slice(0, BEARER.length).toLowerCase() === BEARER;
        if (head.length > RUN_MAX) end = runEnd(isBearer ? BEARER_PART : SECRET_PART, text, end);
        onMatch(isBearer ? start + BEARER.length : start, end);
      }
      searchedTo = end;
      SECRETS.lastIndex = end - first;
    }
  };
}

export const searchEmails = searchParts(findEmails);
export const searchPhones = searchParts(findPhones);
export const searchCards = searchParts(findCards);
