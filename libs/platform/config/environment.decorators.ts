import { applyDecorators } from '@nestjs/common';
import { Transform } from 'class-transformer';
import { IsArray, IsIn, IsInt, IsOptional, IsUrl, Length, Matches, Max, Min } from 'class-validator';
import ipaddr from 'ipaddr.js';

/** Declares an integer in a range, and parses it. Other values stay as they are, and fail validation. */
export function Integer(min: number, max: number): PropertyDecorator {
  const message = `must be an integer from ${min} to ${max}`;
  return applyDecorators(
    IsInt({ message }),
    Min(min, { message }),
    Max(max, { message }),
    Transform(({ value }: { value: unknown }) =>
      typeof value === 'string' && /^-?\d+$/.test(value.trim()) ? Number(value) : value,
    ),
  );
}

/** Declares an optional number of days. */
export const Days = () => applyDecorators(IsOptional(), Integer(1, 36_500));

/** Declares one of several values. */
export const OneOf = (values: readonly string[]) =>
  IsIn(values, { message: `must be one of ${values.join(', ')}` });

/** Declares a URL with the scheme `http` or `https`. */
export const HttpUrl = () =>
  IsUrl(
    { require_tld: false, protocols: ['http', 'https'], require_protocol: true },
    { message: 'must be an http or https URL' },
  );

/** Declares the credential of an outbound request. */
export const ApiKey = () =>
  applyDecorators(
    IsOptional(),
    Matches(/^[\x21-\x7e]+$/, { message: 'must contain only visible ASCII characters, without spaces' }),
  );

/** Declares the name of a model, which is required if another variable is set. */
export const ModelName = (requiredWith: string) =>
  Length(1, 255, {
    message: ({ value }: { value: unknown }) =>
      value === undefined ? `is required if ${requiredWith} is set` : 'must have 1 to 255 characters',
  });

/** Parses a JSON document. Invalid JSON stays a string, which the validation of its reader reports. */
export const Json = () =>
  Transform(({ value }: { value: unknown }) => {
    if (typeof value !== 'string') return value;
    try {
      return JSON.parse(value) as unknown;
    } catch {
      return value;
    }
  });

/** A range of IP addresses: its first address and the length of its prefix, in bits. */
export type IpRange = readonly [address: ipaddr.IPv4 | ipaddr.IPv6, prefix: number];

/** Parses IP addresses and ranges (CIDR), separated by commas. */
export const IpRanges = () =>
  applyDecorators(
    IsArray({ message: 'must be IP addresses and ranges such as 10.0.0.0/8, separated by commas' }),
    Transform(({ value }: { value: unknown }) => {
      if (typeof value !== 'string') return value;
      try {
        return value.split(',').map((one) => rangeOf(one.trim()));
      } catch {
        return value;
      }
    }),
  );

function rangeOf(text: string): IpRange {
  if (text.includes('/')) return ipaddr.parseCIDR(text);
  const address = ipaddr.process(text);
  return [address, address.kind() === 'ipv4' ? 32 : 128];
}

/** Parses origins of web pages, such as `https://app.example.com`, separated by commas. */
export const Origins = () =>
  applyDecorators(
    IsArray({ message: 'must be origins such as https://app.example.com, separated by commas' }),
    Transform(({ value }: { value: unknown }) => {
      if (typeof value !== 'string') return value;
      const origins = value.split(',').map((one) => one.trim());
      return origins.every(isOrigin) ? origins : value;
    }),
  );

const isOrigin = (text: string): boolean =>
  /^https?:/.test(text) && URL.canParse(text) && new URL(text).origin === text;
