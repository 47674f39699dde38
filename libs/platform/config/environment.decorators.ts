import { applyDecorators } from '@nestjs/common';
import { Transform } from 'class-transformer';
import { IsArray, IsInt, IsOptional, Max, Min } from 'class-validator';
import ipaddr from 'ipaddr.js';

/** Parses a whole number. Other values stay as they are, and fail validation. */
export const Integer = () =>
  Transform(({ value }: { value: unknown }) =>
    typeof value === 'string' && /^-?\d+$/.test(value.trim()) ? Number(value) : value,
  );

/** Declares an optional number of days. */
export const Days = () => applyDecorators(IsOptional(), IsInt(), Min(1), Max(36_500), Integer());

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
