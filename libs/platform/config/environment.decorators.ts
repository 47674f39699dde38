import { applyDecorators } from '@nestjs/common';
import { Transform } from 'class-transformer';
import { IsInt, IsOptional, Max, Min } from 'class-validator';

/** A whole number. */
export const Integer = () =>
  Transform(({ value }: { value: unknown }) =>
    typeof value === 'string' && /^-?\d+$/.test(value.trim()) ? Number(value) : value,
  );

/** A number of days, which may be absent. */
export const Days = () => applyDecorators(IsOptional(), IsInt(), Min(1), Max(36_500), Integer());

/** A JSON document in a variable; what is not JSON stays a string, and the validation of its reader names it. */
export const Json = () =>
  Transform(({ value }: { value: unknown }) => {
    if (typeof value !== 'string') return value;
    try {
      return JSON.parse(value) as unknown;
    } catch {
      return value;
    }
  });
