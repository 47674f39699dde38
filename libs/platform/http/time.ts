import { ApiProperty, type ApiPropertyOptions } from '@nestjs/swagger';
import { registerDecorator } from 'class-validator';

/** RFC 3339, section 5.6, `date-time`, without leap seconds. `Date.parse` would read 24:00:00 as the next day. */
const DATE_TIME = /^(\d{4})-(\d{2})-(\d{2})[Tt ](?!24)\d{2}:\d{2}:[0-5]\d(\.\d{1,9})?([Zz]|[+-]\d{2}:\d{2})$/;

/** Parses an RFC 3339 time; returns null for an invalid one, such as the 30th of February, 24:00:00, or second 60. */
export function parseTime(text: string): Date | null {
  const match = DATE_TIME.exec(text);
  if (!match) return null;
  const [, year, month, day] = match.map(Number);
  const lastDay = new Date(Date.UTC(2000 + (year! % 400), month!, 0)).getUTCDate();
  const time = new Date(text.replace(' ', 'T').toUpperCase());
  return day! > lastDay || Number.isNaN(time.getTime()) ? null : time;
}

/**
 * Returns the first whole millisecond at or after a valid RFC 3339 time. Stored times have whole milliseconds, so this bound
 * serves inclusive and exclusive comparisons.
 */
export function firstMillisecond(text: string): Date {
  const beyond = /\.\d{3}(\d+)/.exec(text)?.[1] ?? '';
  return new Date(parseTime(text)!.getTime() + (/[1-9]/.test(beyond) ? 1 : 0));
}

/** Returns the first whole microsecond since 1970 at or after a valid RFC 3339 time. */
export function firstMicrosecond(text: string): bigint {
  const [, micros = '', beyond = ''] = /\.\d{3}(\d{1,3})(\d*)/.exec(text) ?? [];
  const within = BigInt(micros.padEnd(3, '0')) + (/[1-9]/.test(beyond) ? 1n : 0n);
  return BigInt(parseTime(text)!.getTime()) * 1000n + within;
}

/** Returns milliseconds since 1970; null for a value that is not a valid time. */
export const instantOf = (value: unknown): number | null =>
  typeof value === 'string' ? (parseTime(value)?.getTime() ?? null) : null;

/** A time whose `+` was read as a space, as in the query of a URL or a form. */
const LOST_PLUS = /^\S{10}[T ]\S{8,18} \d{2}:\d{2}$/i;

/**
 * Returns what is wrong with a value that is not a time, to continue the name of its member.
 *
 * @param expected says what it must be
 */
export const timeFault = (
  value: unknown,
  expected = 'must be an RFC 3339 time, such as 2025-01-31T12:00:00Z',
): string =>
  typeof value === 'string' && LOST_PLUS.test(value)
    ? 'must be an RFC 3339 time. The + of its offset became a space: write it as %2B in a URL'
    : expected;

/** Declares a member that is an RFC 3339 time. */
export const IsTime =
  (options: ApiPropertyOptions = {}): PropertyDecorator =>
  (target, property) => {
    ApiProperty({ ...options, type: 'string', format: 'date-time' } as ApiPropertyOptions)(target, property);
    registerDecorator({
      name: 'isTime',
      target: target.constructor,
      propertyName: String(property),
      validator: {
        validate: (value: unknown) => typeof value === 'string' && parseTime(value) !== null,
        defaultMessage: (args) => timeFault(args?.value),
      },
    });
  };
