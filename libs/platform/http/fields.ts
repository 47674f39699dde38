import { applyDecorators } from '@nestjs/common';
import { ApiProperty, type ApiPropertyOptions } from '@nestjs/swagger';
import { IsInt, IsOptional, IsString, Length, Max, MaxLength, Min } from 'class-validator';
import { type DescribedType, NotNull, PLUGIN_METADATA } from './members';
import { IsTime } from './time';

/** Adds to what the OpenAPI plugin emits for a member. `@ApiProperty` would also move the member to the top of its schema. */
const describe =
  (options: ApiPropertyOptions): PropertyDecorator =>
  (target, property) => {
    const type = target.constructor as DescribedType;
    const declared = type[PLUGIN_METADATA];
    type[PLUGIN_METADATA] = () => {
      const members = declared?.() ?? {};
      return { ...members, [property]: { ...members[String(property)], ...options } };
    };
  };

/** Declares a string: any, or one of `min` to `max` characters. */
export const IsText = (max?: number, min = 1) => {
  if (max === undefined) return IsString();
  const bounds = { ...(min > 0 && { minLength: min }), maxLength: max };
  return applyDecorators(IsString(), min > 0 ? Length(min, max) : MaxLength(max), describe(bounds));
};

/** Declares a string that may be absent, but not null. */
export const IsOptionalText = (max?: number, min?: number) => applyDecorators(NotNull(), IsText(max, min));

/** Declares a string that may be absent or null. */
export const IsNullableText = (max?: number, min?: number) => applyDecorators(IsOptional(), IsText(max, min));

/** Declares a member of a PATCH that cannot be changed: clients may send its current value. */
export const IsImmutable = (description = 'Immutable (422 for another value).') =>
  applyDecorators(NotNull(), IsString(), describe({ description }));

/** Declares a whole number within the bounds that its OpenAPI schema shows. */
export const IsWholeNumber = (options: { minimum: number; maximum?: number } & ApiPropertyOptions) =>
  applyDecorators(
    IsInt(),
    Min(options.minimum),
    ...(options.maximum === undefined ? [] : [Max(options.maximum)]),
    ApiProperty({ ...options, type: 'integer' } as ApiPropertyOptions),
  );

/** Declares an RFC 3339 time that may be absent, but not null. */
export const IsOptionalTime = () => applyDecorators(NotNull(), IsTime({ required: false }));

/** Declares an RFC 3339 time that may be absent or null. */
export const IsNullableTime = () =>
  applyDecorators(IsOptional(), IsTime({ required: false, nullable: true }));
