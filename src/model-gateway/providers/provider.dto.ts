import { applyDecorators } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import { IsObject, IsOptional, IsString, Length, Matches } from 'class-validator';
import {
  AnyJsonObject,
  IsOneOf,
  NotNull,
  ReadOnlyMembersOf,
  ValuesCheckedLater,
  viewOf,
  IsImmutable,
  IsNullableText,
  IsOptionalText,
} from '#platform/http';
import { NamedListQueryDto, PageOf } from '#platform/paging';
import {
  BASE_URL_MAX,
  DescribedBodyDto,
  DescribedPatchDto,
  HeadersProperty,
  IsFilter,
  IsName,
  PatchedHeadersProperty,
  PlacedDto,
} from '../../resources';
import { PROVIDER_KINDS, type ProviderEntity, type ProviderKind } from './provider.entity';

const API_KEY_MAX = 8_192;

/** Declares `api_key`, the secret. */
const IsApiKey = (description: string) =>
  applyDecorators(
    IsOptional(),
    IsString(),
    Length(1, API_KEY_MAX),
    Matches(/^[\x21-\x7e]*$/, {
      message: '$property must contain only visible ASCII characters, without spaces',
    }),
    ApiProperty({
      writeOnly: true,
      description,
      minLength: 1,
      maxLength: API_KEY_MAX,
      pattern: '^[\\x21-\\x7e]*$',
      nullable: true,
      type: String,
      required: false,
    }),
  );

@ReadOnlyMembersOf(() => ModelProviderDto)
export class CreateModelProviderDto extends DescribedBodyDto {
  @IsString()
  workspace_id!: string;

  /** Unique among the workspace's providers that are not archived (409). */
  @IsName()
  name!: string;

  /** The API that the server offers. Most servers offer OpenAI's API. */
  @IsOneOf(PROVIDER_KINDS)
  kind!: ProviderKind;

  /**
   * An `http` or `https` URL without user, password, query or fragment (by default `https://api.openai.com/v1` or
   * `https://api.anthropic.com/v1`), whose address must be public (otherwise calls return 403) unless the operator allows
   * it. Paths such as `/chat/completions` are appended: a trailing slash is removed, and a URL without a path gets `/v1`.
   */
  @IsNullableText(BASE_URL_MAX)
  base_url?: string | null;

  @IsApiKey('The API key of the provider, if it needs one. Stored encrypted, and never returned.')
  api_key?: string | null;

  /** Headers to add to every request, by name. They must not contain secrets, because everyone who can read the provider sees them. */
  @IsOptional()
  @IsObject()
  @HeadersProperty({ nullable: true, required: false })
  headers?: Record<string, unknown> | null;
}

/** A merge patch (RFC 7396). */
@ValuesCheckedLater()
@ReadOnlyMembersOf(() => ModelProviderDto)
export class PatchModelProviderDto extends DescribedPatchDto {
  @IsImmutable('Must be the current workspace, because a provider cannot be moved (422).')
  workspace_id?: string;

  @IsImmutable()
  provider_id?: string;

  @NotNull()
  @IsName()
  name?: string;

  /** Immutable (422 for another value). */
  @NotNull()
  @IsOneOf(PROVIDER_KINDS, { required: false })
  kind?: ProviderKind;

  @IsOptionalText(BASE_URL_MAX)
  base_url?: string;

  @IsApiKey(
    'A new key; if absent, the current key stays, and null removes it. Required (400) if the origin of ' +
      'the base URL changes, because a key is never sent to a new origin.',
  )
  api_key?: string | null;

  /**
   * Merged into the current headers; a header with the value null is removed. Null instead of an object removes all headers.
   */
  @IsOptional()
  @IsObject()
  @PatchedHeadersProperty()
  headers?: Record<string, unknown> | null;
}

export class ModelProviderListQueryDto extends NamedListQueryDto {
  /** Only providers of this workspace. */
  @IsFilter()
  workspace_id?: string;

  /** Only providers with this name. */
  @IsFilter()
  name?: string;

  /** Only providers of this kind. */
  @NotNull()
  @IsOneOf(PROVIDER_KINDS, { required: false })
  kind?: ProviderKind;

  /** Words or word prefixes in the name, the base URL, or the description. */
  @IsFilter(1000)
  q?: string;
}

/** A server that answers model calls. */
export class ModelProviderDto extends PlacedDto {
  provider_id!: string;
  name!: string;
  description!: string | null;
  @ApiProperty({ enum: PROVIDER_KINDS })
  kind!: ProviderKind;
  base_url!: string;
  /** Whether a key is stored. */
  has_api_key!: boolean;
  @HeadersProperty()
  headers!: object;
  @AnyJsonObject()
  metadata!: object;
}

export class ModelProviderPageDto extends PageOf(ModelProviderDto) {}

export const toModelProviderDto = viewOf(ModelProviderDto, (row: ProviderEntity) => ({
  has_api_key: row.api_key !== null,
}));
