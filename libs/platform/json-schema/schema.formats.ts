import { fullFormats } from 'ajv-formats/dist/formats';
import { LinearRegExp, MAX_PATTERN_LENGTH, PatternRefused } from '#platform/linear-regexp';

/** Longest text that can be of a format: some of the library's expressions take the square of the length. */
const MAX_LENGTH = 2_048;
/** RFC 5321 allows 64 characters before the @ and 255 after it. */
const MAX_EMAIL_LENGTH = 320;

/** What compiling a pattern costs at all, and for each of its instructions, or where it is refused of its characters. */
const PATTERN_UNITS = { base: 2_000, each: 200 };

type Formats = Record<string, (text: string) => boolean>;

const FORMATS: Formats = {
  date: of(fullFormats.date),
  time: of(fullFormats.time),
  'date-time': of(fullFormats['date-time']),
  duration: of(fullFormats.duration),
  email: of(fullFormats.email, MAX_EMAIL_LENGTH),
  hostname: of(fullFormats.hostname),
  ipv4: of(fullFormats.ipv4),
  ipv6: of(fullFormats.ipv6),
  uri: of(fullFormats.uri),
  'uri-reference': of(fullFormats['uri-reference']),
  uuid: of(fullFormats.uuid),
  'json-pointer': of(fullFormats['json-pointer']),
};

/**
 * The formats that are asserted; any other is an annotation. @param spend is told what a text costs beyond its length,
 * in about 50 ns: a pattern of 12 characters may take milliseconds to compile.
 */
export const formatsOf = (spend: (units: number) => void): Formats => ({
  ...FORMATS,
  regex: (text) => isUsablePattern(text, spend),
});

function of(format: unknown, maxLength = MAX_LENGTH): (text: string) => boolean {
  const validate = format instanceof RegExp ? (text: string) => format.test(text) : functionOf(format);
  return (text) => text.length <= maxLength && validate(text);
}

function functionOf(format: unknown): (text: string) => boolean {
  const validate =
    typeof format === 'function' ? format : (format as { validate?: unknown } | undefined)?.validate;
  if (typeof validate !== 'function')
    throw new TypeError('the library of formats lacks one that is promised here');
  return (text) => Boolean((validate as (text: string) => unknown)(text));
}

function isUsablePattern(text: string, spend: (units: number) => void): boolean {
  spend(PATTERN_UNITS.base);
  try {
    spend(PATTERN_UNITS.each * LinearRegExp.compile(text).compileCost);
    return true;
  } catch (error) {
    if (!(error instanceof PatternRefused)) throw error;
    spend(PATTERN_UNITS.each * Math.min(text.length, MAX_PATTERN_LENGTH));
    return false;
  }
}
