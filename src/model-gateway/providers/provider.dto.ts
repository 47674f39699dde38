import { applyDecorators } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import { IsObject, IsOptional, IsString, Length, Matches } from 'class-validator';
import { AnyJsonObject, IsOneOf, NotNull, ReadOnlyMembersOf, ValuesCheckedLater } from '#platform/http';
import { NamedListQueryDto, PageMetaDto } from '#platform/paging';
import {
  BASE_URL_MAX,
  DescribedBodyDto,
  DescribedPatchDto,
  HeadersProperty,
  IsFilter,
  IsName,
  PatchedHeadersProperty,
  pick,
  PLACED_FIELDS,
  PlacedDto,
} from '../../resources';
import { PROVIDER_KINDS, type ProviderEntity, type ProviderKind } from './provider.entity';

const API_KEY_MAX = 8_192;

/** Declares the secret. */
const IsApiKey = (description: string) =>
  applyDecorators(
    IsOptional(),
    IsString(),
    Length(1, API_KEY_MAX),
    Matches(/^[\x21-\x7e]*$/, { message: '$property must be visible ASCII characters without spaces' }),
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

  /** Unique among the live providers of the workspace (409). */
  @IsName()
  name!: string;

  /** The API that the server offers. Most servers offer that of OpenAI. */
  @IsOneOf(PROVIDER_KINDS)
  kind!: ProviderKind;

  /**
   * An `http` or `https` URL without user, password, query and fragment, to which paths such as `/chat/completions` are
   * added. A slash at its end is removed, and a URL without a path gets `/v1`. Defaults to `https://api.openai.com/v1` or
   * `https://api.anthropic.com/v1`.
   */
  @IsOptional()
  @IsString()
  @Length(1, BASE_URL_MAX)
  base_url?: string | null;

  @IsApiKey('The key of the provider, for servers that need one. Stored encrypted, and never returned.')
  api_key?: string | null;

  /** Further headers of every request, by name. They must not contain secrets, because everyone who can read the provider reads them. */
  @IsOptional()
  @IsObject()
  @HeadersProperty({ nullable: true, required: false })
  headers?: Record<string, unknown> | null;
}

/** A merge patch (RFC 7396). */
@ValuesCheckedLater()
@ReadOnlyMembersOf(() => ModelProviderDto)
export class PatchModelProviderDto extends DescribedPatchDto {
  /** Must be the current one, because a provider cannot be moved (422). */
  @NotNull()
  @IsString()
  workspace_id?: string;

  /** Must be the current one (422 `immutable_field`). */
  @NotNull()
  @IsString()
  provider_id?: string;

  @NotNull()
  @IsName()
  name?: string;

  /** Must be the current one (422 `immutable_field`). */
  @NotNull()
  @IsOneOf(PROVIDER_KINDS, { required: false })
  kind?: ProviderKind;

  @NotNull()
  @IsString()
  @Length(1, BASE_URL_MAX)
  base_url?: string;

  @IsApiKey(
    'A new key. Absent, the current one stays; null removes it. Required (400) when the origin of the base URL changes, ' +
      'because keys are never sent to a server that they were not given for.',
  )
  api_key?: string | null;

  /** Merged into the current headers: null removes a header. Null instead of the object removes all of them. */
  @IsOptional()
  @IsObject()
  @PatchedHeadersProperty()
  headers?: Record<string, unknown> | null;
}

export class ModelProviderListQueryDto extends NamedListQueryDto {
  /** Only providers of this workspace. */
  @IsFilter()
  workspace_id?: string;

  /** Only the providers with this name. */
  @IsFilter()
  name?: string;

  /** Only providers of this kind. */
  @NotNull()
  @IsOneOf(PROVIDER_KINDS, { required: false })
  kind?: ProviderKind;

  /** Words, or beginnings of words, in the name, the base URL, or the description. */
  @IsFilter(1000)
  q?: string;
}

/** A server that answers calls of models. */
export class ModelProviderDto extends PlacedDto {
  provider_id!: string;
  name!: string;
  description!: string | null;
  @ApiProperty({ enum: PROVIDER_KINDS })
  kind!: ProviderKind;
  base_url!: string;
  /** Whether there is a key. */
  has_api_key!: boolean;
  @HeadersProperty()
  headers!: object;
  @AnyJsonObject()
  metadata!: object;
}

export class ModelProviderPageDto {
  items!: ModelProviderDto[];
  page!: PageMetaDto;
}

export const toModelProviderDto = (row: ProviderEntity): ModelProviderDto => ({
  ...pick(row, [
    'provider_id',
    'name',
    'description',
    'kind',
    'base_url',
    'headers',
    'metadata',
    ...PLACED_FIELDS,
  ]),
  has_api_key: row.api_key !== null,
});
