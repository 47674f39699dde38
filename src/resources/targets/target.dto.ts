import { applyDecorators } from '@nestjs/common';
import { ApiProperty, type ApiPropertyOptions } from '@nestjs/swagger';
import { IsOptional, IsString, Length } from 'class-validator';
import { IsWholeNumber } from '#platform/http';
import { HEADER_VALUE_MAX, HEADERS_MAX } from './extra-headers';

export const BASE_URL_MAX = 2_048;
export const TIMEOUT_MIN_MS = 100;
export const TIMEOUT_MAX_MS = 600_000;
export const REQUESTS_PER_MINUTE_MAX = 1_000_000;

export interface MemberOptions {
  nullable?: boolean;
  default?: unknown;
}

/** Declares the milliseconds that a target has to respond. */
export const IsTimeout = (options: MemberOptions = {}) =>
  IsWholeNumber({
    format: 'int32',
    minimum: TIMEOUT_MIN_MS,
    maximum: TIMEOUT_MAX_MS,
    required: false,
    ...options,
  });

/** Declares a limit, which null removes. */
export const IsLimit = (maximum: number) =>
  applyDecorators(
    IsOptional(),
    IsWholeNumber({ format: 'int32', minimum: 1, maximum, nullable: true, required: false }),
  );

const AUTH_SECRET_MAX = 8_192;

/** Declares a secret of `auth`. */
export const IsAuthSecret = (description: string) =>
  applyDecorators(
    Length(1, AUTH_SECRET_MAX),
    ApiProperty({
      writeOnly: true,
      description,
      minLength: 1,
      maxLength: AUTH_SECRET_MAX,
      nullable: true,
      type: String,
      required: false,
    }),
    IsString(),
    IsOptional(),
  );

const HEADERS_SCHEMA = {
  type: 'object',
  additionalProperties: { type: 'string', minLength: 1, maxLength: HEADER_VALUE_MAX },
  maxProperties: HEADERS_MAX,
};

/** Declares extra headers by name. */
export const HeadersProperty = (options: object = {}) =>
  ApiProperty({ ...HEADERS_SCHEMA, ...options } as ApiPropertyOptions);

/** Declares a patch of extra headers. Null removes one header, or all of them. */
export const PatchedHeadersProperty = () =>
  HeadersProperty({
    additionalProperties: { type: ['string', 'null'], minLength: 1, maxLength: HEADER_VALUE_MAX },
    maxProperties: undefined,
    nullable: true,
    required: false,
  });
