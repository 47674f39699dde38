import { ApiProperty, type ApiPropertyOptions } from '@nestjs/swagger';
import { registerDecorator } from 'class-validator';

/** RFC 3339, section 5.6, `date-time`. */
const DATE_TIME = /^(\d{4})-(\d{2})-(\d{2})[Tt ]\d{2}:\d{2}:(\d{2})(\.\d{1,9})?([Zz]|[+-]\d{2}:\d{2})$/;

/**
 * The time that an RFC 3339 text names; null for a text that names none, such as the 30th of February. A leap second is
 * the first of the next minute.
 */
export function parseTime(text: string): Date | null {
  const match = DATE_TIME.exec(text);
  if (!match) return null;
  const [, year, month, day, second] = match.map(Number);
  const lastDay = new Date(Date.UTC(2000 + (year! % 400), month!, 0)).getUTCDate();
  const [leap, known] = second === 60 ? [1000, text.replace(/:60/, ':59')] : [0, text];
  const time = new Date(Date.parse(known.replace(' ', 'T').toUpperCase()) + leap);
  return day! > lastDay || Number.isNaN(time.getTime()) ? null : time;
}

/**
 * The first whole millisecond that is not before the time of an RFC 3339 text. What is stored has whole ones, so this is
 * the bound to compare with, be it inclusive or not. The text was found valid before.
 */
export function firstMillisecond(text: string): Date {
  const beyond = /\.\d{3}(\d+)/.exec(text)?.[1] ?? '';
  return new Date(parseTime(text)!.getTime() + (/[1-9]/.test(beyond) ? 1 : 0));
}

/** The same of microseconds, since 1970: for what is stored with them. */
export function firstMicrosecond(text: string): bigint {
  const [, micros = '', beyond = ''] = /\.\d{3}(\d{1,3})(\d*)/.exec(text) ?? [];
  const within = BigInt(micros.padEnd(3, '0')) + (/[1-9]/.test(beyond) ? 1n : 0n);
  return BigInt(parseTime(text)!.getTime()) * 1000n + within;
}

/** Milliseconds since 1970, for comparing members that may be times; null for what is none. */
export const instantOf = (value: unknown): number | null =>
  typeof value === 'string' ? (parseTime(value)?.getTime() ?? null) : null;

/** A member that is a time as RFC 3339 writes it. */
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
        defaultMessage: () => 'must be a time as RFC 3339 writes it, such as 2025-01-31T12:00:00Z',
      },
    });
  };
