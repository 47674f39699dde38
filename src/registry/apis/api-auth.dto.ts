import { ApiProperty } from '@nestjs/swagger';
import { IsOneOf, NotNull, ReadOnlyMembersOf, IsNullableText } from '#platform/http';
import { IsAuthSecret } from '../../resources';
import { type ApiEntity, AUTH_TYPES, type AuthType } from './api.entity';

const NAME_MAX = 255;

/** The members of `auth` that an app can also declare: all but the secret. */
export class ApiAuthFieldsDto {
  /**
   * The name of the header (type `header`) or query parameter (type `query`) that carries `value`. Required for these types,
   * and only allowed for them.
   */
  @IsNullableText(NAME_MAX)
  name?: string | null;
}

/** How the service authenticates to the API. */
@ReadOnlyMembersOf(() => StoredApiAuthDto)
export class ApiAuthDto extends ApiAuthFieldsDto {
  @IsOneOf(AUTH_TYPES, {
    variants: {
      none: {},
      bearer: { value: true },
      header: { value: true, name: true },
      basic: { value: true },
      query: { value: true, name: true },
    },
  })
  type!: AuthType;

  @IsAuthSecret(
    'The secret, which all types except `none` require: a token (`bearer`), the value of the header ' +
      '(`header`), `user:password` (`basic`), or the value of the query parameter (`query`, at most 4,096 ' +
      'characters). Stored encrypted, and never ' +
      'returned.',
  )
  value?: string | null;
}

/** Absent members keep their values. */
@ReadOnlyMembersOf(() => StoredApiAuthDto)
export class PatchApiAuthDto extends ApiAuthFieldsDto {
  @NotNull()
  @IsOneOf(AUTH_TYPES, { required: false })
  type?: AuthType;

  @IsAuthSecret(
    'A new secret; if absent, the current secret stays. Required (400) if the type, the name or the ' +
      'origin of the base URL changes, because a secret is never sent to a new origin or in a new way.',
  )
  value?: string | null;
}

/** How the service authenticates to the API, without the secret. */
export class ApiAuthViewDto {
  @ApiProperty({ enum: AUTH_TYPES })
  type!: AuthType;
  /** Null unless the type is `header` or `query`. */
  name!: string | null;
}

/** How the service authenticates to the API, and whether it has the secret. */
export class StoredApiAuthDto extends ApiAuthViewDto {
  /** Whether a secret is stored. An API that an app declares has no secret until you set one with PATCH. */
  has_value!: boolean;
}

export const toAuthView = (row: Pick<ApiEntity, 'auth_type' | 'auth_name'>): ApiAuthViewDto => ({
  type: row.auth_type,
  name: row.auth_name,
});

export const toStoredAuthView = (
  row: Pick<ApiEntity, 'auth_type' | 'auth_name' | 'auth_secret'>,
): StoredApiAuthDto => ({ ...toAuthView(row), has_value: row.auth_secret !== null });
