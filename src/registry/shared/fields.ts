import { applyDecorators } from '@nestjs/common';
import { ArrayMaxSize, IsArray, IsString, Length, Matches, MaxLength } from 'class-validator';
import { ROLES } from '#platform/auth';
import { IsOneOf } from '#platform/http';

export const STATUSES = ['active', 'suspended'] as const;

/** A name that people read: 1 to 255 characters, no line breaks or other control characters. */
export const IsName = () =>
  applyDecorators(
    IsString(),
    Length(1, 255),
    Matches(/^[^\p{Cc}]*$/u, { message: '$property must not hold control characters' }),
  );

export const IsDescription = () => applyDecorators(IsString(), MaxLength(10_000));

/** Roles; an unknown one is 422. */
export const IsRoles = () =>
  applyDecorators(IsOneOf(ROLES, { each: true }), IsArray(), ArrayMaxSize(ROLES.length * 2));
