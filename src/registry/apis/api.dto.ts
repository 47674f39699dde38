import { applyDecorators } from '@nestjs/common';
import { ApiProperty, OmitType } from '@nestjs/swagger';
import {
  ArrayMaxSize,
  ArrayMinSize,
  IsArray,
  IsBoolean,
  IsObject,
  IsOptional,
  IsString,
} from 'class-validator';
import {
  AnyJsonObject,
  IsOneOf,
  Nested,
  NotNull,
  ReadOnlyMembersOf,
  ValuesCheckedLater,
  viewOf,
  IsImmutable,
  IsOptionalText,
  IsText,
} from '#platform/http';
import { PageOf } from '#platform/paging';
import {
  BASE_URL_MAX,
  DescribedBodyDto,
  DescribedPatchDto,
  HeadersProperty,
  IsFilter,
  IsLimit,
  IsName,
  IsTimeout,
  type MemberOptions,
  OwnedDto,
  OwnedListQueryDto,
  PatchedHeadersProperty,
  REQUESTS_PER_MINUTE_MAX,
  TIMEOUT_MIN_MS,
  UNVERSIONED_MEMBERS,
} from '../../resources';
import {
  ApiAuthDto,
  ApiAuthViewDto,
  StoredApiAuthDto,
  PatchApiAuthDto,
  toAuthView,
  toStoredAuthView,
} from './api-auth.dto';
import {
  API_METHODS,
  type ApiEntity,
  type ApiMethod,
  type ApiVersionRow,
  TIMEOUT_DEFAULT_MS,
} from './api.entity';

const IN_FLIGHT_MAX = 10_000;
const METHODS_MAX = API_METHODS.length * 2;

const IsMethods = (options: MemberOptions = {}) =>
  applyDecorators(
    IsOneOf(API_METHODS, { each: true, minItems: 1, maxItems: METHODS_MAX, required: false, ...options }),
    IsArray(),
    ArrayMinSize(1),
    ArrayMaxSize(METHODS_MAX),
  );

/** The members of a new API that an app can also declare. */
export class ApiFieldsDto extends DescribedBodyDto {
  /**
   * An `http` or `https` URL without user, password, query or fragment, whose path has no dot segments or encoded slashes. A
   * trailing slash is removed.
   */
  @IsText(BASE_URL_MAX)
  base_url!: string;

  /** The methods that callers may use. Default: all methods. */
  @IsOptional()
  @IsMethods({ nullable: true })
  allowed_methods?: ApiMethod[] | null;

  /** The time within which the API must respond, in milliseconds. */
  @IsOptional()
  @IsTimeout({ nullable: true, default: TIMEOUT_DEFAULT_MS })
  timeout_ms?: number | null;

  /** Headers to add to every request, by name. They must not contain secrets, because everyone who can read the API sees them. */
  @IsOptional()
  @IsObject()
  @HeadersProperty({ nullable: true, required: false })
  headers?: Record<string, unknown> | null;

  /** Whether the path of a request may contain an encoded slash (`%2F`). */
  @IsOptional()
  @IsBoolean()
  @ApiProperty({ type: Boolean, nullable: true, required: false, default: false })
  allow_encoded_slash?: boolean | null;

  /** Maximum number of requests per minute from all callers together. Null means no limit. */
  @IsLimit(REQUESTS_PER_MINUTE_MAX)
  requests_per_minute?: number | null;

  /** Maximum number of concurrent requests from each process of the service. Null means no limit. */
  @IsLimit(IN_FLIGHT_MAX)
  max_in_flight?: number | null;
}

@ReadOnlyMembersOf(() => ApiDto)
export class CreateApiDto extends ApiFieldsDto {
  @IsString()
  workspace_id!: string;

  /** Unique among the workspace's APIs that are not archived (409). */
  @IsName()
  name!: string;

  @IsOptional()
  @Nested(() => ApiAuthDto)
  auth?: ApiAuthDto | null;
}

/** A merge patch (RFC 7396). */
@ValuesCheckedLater()
@ReadOnlyMembersOf(() => ApiDto)
export class PatchApiDto extends DescribedPatchDto {
  @IsImmutable('Must be the current workspace, because an API cannot be moved (422).')
  workspace_id?: string;

  @IsImmutable()
  api_id?: string;

  @NotNull()
  @IsName()
  name?: string;

  @IsOptionalText(BASE_URL_MAX)
  base_url?: string;

  /** Null means the type `none`. */
  @IsOptional()
  @Nested(() => PatchApiAuthDto)
  auth?: PatchApiAuthDto | null;

  /** Replaces the current methods. */
  @NotNull()
  @IsMethods()
  allowed_methods?: ApiMethod[];

  @NotNull()
  @IsTimeout()
  timeout_ms?: number;

  /**
   * Merged into the current headers; a header with the value null is removed. Null instead of an object removes all headers.
   */
  @IsOptional()
  @IsObject()
  @PatchedHeadersProperty()
  headers?: Record<string, unknown> | null;

  @NotNull()
  @IsBoolean()
  allow_encoded_slash?: boolean;

  /** Null removes the limit. */
  @IsLimit(REQUESTS_PER_MINUTE_MAX)
  requests_per_minute?: number | null;

  /** Null removes the limit. */
  @IsLimit(IN_FLIGHT_MAX)
  max_in_flight?: number | null;
}

export class ApiListQueryDto extends OwnedListQueryDto {
  /** Words or word prefixes in the name, the base URL, or the description. */
  @IsFilter(1000)
  q?: string;
}

/** An HTTP API registered in a workspace. Its versions cover all members except `metadata` and the secret of `auth`. */
export class ApiDto extends OwnedDto {
  api_id!: string;
  description!: string | null;
  base_url!: string;
  auth!: StoredApiAuthDto;
  @ApiProperty({ enum: API_METHODS, isArray: true })
  allowed_methods!: ApiMethod[];
  @ApiProperty({ type: 'integer', format: 'int32', minimum: TIMEOUT_MIN_MS })
  timeout_ms!: number;
  @HeadersProperty()
  headers!: object;
  allow_encoded_slash!: boolean;
  /** Maximum number of requests per minute from all callers together. Null means no limit. */
  @ApiProperty({ type: 'integer', format: 'int32', minimum: 1, nullable: true })
  requests_per_minute!: number | null;
  /** Maximum number of concurrent requests from each process of the service. Null means no limit. */
  @ApiProperty({ type: 'integer', format: 'int32', minimum: 1, nullable: true })
  max_in_flight!: number | null;
  @AnyJsonObject()
  metadata!: object;
  /** The app that declares the API, or null. */
  app_id!: string | null;
}

export class ApiPageDto extends PageOf(ApiDto) {}

/** A version of an API. Versions never change. */
export class ApiVersionDto extends OmitType(ApiDto, [...UNVERSIONED_MEMBERS, 'app_id', 'auth', 'metadata']) {
  /** Numbered from 1. Deleted versions leave gaps. */
  @ApiProperty({ type: 'integer', format: 'int32', minimum: 1 })
  override version_ordinal!: number;
  auth!: ApiAuthViewDto;
}

export class ApiVersionPageDto extends PageOf(ApiVersionDto) {}

export const toApiDto = viewOf(ApiDto, (row: ApiEntity) => ({ auth: toStoredAuthView(row) }));

export const toApiVersionDto = viewOf(ApiVersionDto, (row: ApiVersionRow) => ({ auth: toAuthView(row) }));
