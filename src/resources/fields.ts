import { applyDecorators } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import { ArrayMaxSize, IsArray, IsString, Length, Matches, MaxLength } from 'class-validator';
import { ROLES } from '#platform/auth';
import { IsJsonObject, IsOneOf, METADATA_MAX_BYTES, NotNull } from '#platform/http';

export const STATUSES = ['active', 'suspended'] as const;

/** Declares a name: 1 to `max` characters without line breaks or other control characters. */
export const IsName = (max = 255) =>
  applyDecorators(
    IsString(),
    Length(1, max),
    Matches(/^[^\p{Cc}]*$/u, { message: '$property must not contain control characters' }),
    ApiProperty({ minLength: 1, maxLength: max, pattern: '^[^\\p{Cc}]*$' }),
  );

const DESCRIPTION_MAX = 10_000;
export const IsDescription = () =>
  applyDecorators(IsString(), MaxLength(DESCRIPTION_MAX), ApiProperty({ maxLength: DESCRIPTION_MAX }));

/** Declares an optional filter of a list. @param max maximum number of characters */
export const IsFilter = (max = 255) =>
  applyDecorators(NotNull(), IsString(), MaxLength(max), ApiProperty({ maxLength: max, required: false }));

const ROLES_MAX = ROLES.length * 2;

/** Declares a list of roles. An unknown role is 422. */
export const IsRoles = () =>
  applyDecorators(IsOneOf(ROLES, { each: true, maxItems: ROLES_MAX }), IsArray(), ArrayMaxSize(ROLES_MAX));

/** Declares the filter of a search by `metadata`. */
export const IsMetadataFilter = () =>
  applyDecorators(
    NotNull(),
    IsJsonObject({
      maxBytes: METADATA_MAX_BYTES,
      required: false,
      description:
        'Members that the metadata must contain. Scalars must be equal, objects must contain these members, and arrays must contain these elements in any order.',
    }),
  );
