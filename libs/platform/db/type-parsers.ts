import { types } from 'pg';
import { RawJson } from '#platform/json';

/** OIDs of types that have their own parsers. */
const INT8 = 20;
const JSON_TEXT = 114;
const TEXT_ARRAY = 1009;
const TIMESTAMPTZ = 1184;

type Parser = (text: string) => unknown;

/** Returns the parser of a type. Rows have `json` as `RawJson`, and `int8` as numbers. */
export function parserOf(oid: number, format?: string): Parser {
  const standard = types.getTypeParser(oid, format as 'text') as Parser;
  if (format === 'binary') return standard;
  switch (oid) {
    case JSON_TEXT:
      // `json` columns hold clients' values, which are returned verbatim; `jsonb` columns hold the service's own
      return (text) => RawJson.fromStored(text);
    case INT8:
      return Number; // counts and sizes, all below 2^53
    case TIMESTAMPTZ:
      return (text) => StoredTime.from(text) ?? standard(text);
    case TEXT_ARRAY:
      return (text) => plainTexts(text) ?? standard(text);
    default:
      return standard;
  }
}

/** A time in UTC in the years 1000 to 9999. PostgreSQL omits zeros at the end of the microseconds. */
const UTC_TIME = /^[1-9]\d{3}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{1,6})?\+00$/;

/** A time from the database that has its text. Parsing and formatting plain dates takes half of the time for a list. */
class StoredTime extends Date {
  private constructor(
    milliseconds: number,
    private readonly text: string,
  ) {
    super(milliseconds);
  }

  /** Returns undefined for a time in another time zone than UTC, or in another form. */
  static from(text: string): StoredTime | undefined {
    if (!UTC_TIME.test(text)) return undefined;
    const year = digits(text, 0) * 100 + digits(text, 2);
    const minute = Date.UTC(year, digits(text, 5) - 1, digits(text, 8), digits(text, 11), digits(text, 14));
    // a little more, because the product may be a little less than a whole number
    return new StoredTime(minute + Math.floor(Number(text.slice(17, -3)) * 1000 + 0.0001), text);
  }

  /** Returns the time in RFC 3339, like that of a plain date. */
  override toJSON(): string {
    const { text } = this;
    const milliseconds = text.length < 26 ? super.toISOString().slice(19, 23) : text.slice(19, 23);
    return `${text.slice(0, 10)}T${text.slice(11, 19)}${milliseconds}Z`;
  }
}

const digits = (text: string, at: number): number =>
  (text.charCodeAt(at) - 48) * 10 + text.charCodeAt(at + 1) - 48;

/** Returns the elements of a one-dimensional array in which nothing is quoted or null; undefined for other arrays. */
function plainTexts(text: string): string[] | undefined {
  if (text === '{}') return [];
  const isPlain = !text.includes('"') && !text.includes('{', 1) && !text.includes('NULL');
  return isPlain ? text.slice(1, -1).split(',') : undefined;
}
