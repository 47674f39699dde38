import { fullFormats } from 'ajv-formats/dist/formats';
import { LinearRegExp, PatternError } from '#platform/linear-regexp';

/** Longest text that is checked, because some of the library's expressions take quadratic time. */
const MAX_LENGTH = 2_048;
/** RFC 5321 allows 64 characters before the @ and 255 after it. */
const MAX_EMAIL_LENGTH = 320;

/** The asserted formats. All others are annotations. */
export const FORMATS: Record<string, (text: string) => boolean> = {
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
  regex: isUsablePattern,
};

function of(format: unknown, maxLength = MAX_LENGTH): (text: string) => boolean {
  const validate = format instanceof RegExp ? (text: string) => format.test(text) : functionOf(format);
  return (text) => text.length <= maxLength && validate(text);
}

function functionOf(format: unknown): (text: string) => boolean {
  const validate =
    typeof format === 'function' ? format : (format as { validate?: unknown } | undefined)?.validate;
  if (typeof validate !== 'function') throw new TypeError('ajv-formats lacks a required format');
  return (text) => Boolean((validate as (text: string) => unknown)(text));
}

function isUsablePattern(text: string): boolean {
  try {
    LinearRegExp.compile(text);
    return true;
  } catch (error) {
    if (!(error instanceof PatternError)) throw error;
    return false;
  }
}
