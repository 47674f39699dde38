import { ApiProperty, type ApiPropertyOptions } from '@nestjs/swagger';
import { registerDecorator } from 'class-validator';

/** RFC 3339, section 5.6, `date-time`. */
const DATE_TIME = /^(\d{4})-(\d{2})-(\d{2})[Tt ]\d{2}:\d{2}:(\d{2})(\.\d{1,9})?([Zz]|[+-]\d{2}:\d{2})$/;

/**
 * Parses an RFC 3339 time; returns null for an invalid one, such as the 30th of February. A leap second counts as the first
 * second of the next minute.
 */
export function parseTime(text: string): Date | null {
  const match = DATE_TIME.exec(text);
  if (!match) return null;
  const [, year, month, day, second] = match.map(Number);
  const lastDay = new Date(Date.UTC(2000 + (year! % 400), month!, 0)).getUTCDate();
  const [leap, parsable] = second === 60 ? [1000, text.replace(/:60/, ':59')] : [0, text];
  const time = new Date(Date.parse(parsable.replace(' ', 'T').toUpperCase()) + leap);
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
        defaultMessage: () => 'must be an RFC 3339 time, such as 2025-01-31T12:00:00Z',
      },
    });
  };
