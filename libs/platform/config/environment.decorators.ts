import { applyDecorators } from '@nestjs/common';
import { Transform } from 'class-transformer';
import { IsInt, IsOptional, Max, Min } from 'class-validator';

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
