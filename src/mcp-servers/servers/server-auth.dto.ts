import { ApiProperty } from '@nestjs/swagger';
import { IsOneOf, NotNull, ReadOnlyMembersOf, IsNullableText } from '#platform/http';
import { IsAuthSecret } from '../../resources';
import { AUTH_TYPES, type AuthColumns, type AuthType, type ServerEntity } from './server.entity';

/** The maximum length of the URL of a server, and of its token endpoint. */
export const URL_MAX = 2_048;
const AUTH_HEADER_MAX = 255;
const CLIENT_ID_MAX = 1_024;
const SCOPE_MAX = 2_048;

/** The members of `auth` without secrets, which an app can also declare. */
export class AuthFieldsDto {
  /** The name of the header that carries `value`. Required for the type `header`, and allowed only there. */
  @IsNullableText(AUTH_HEADER_MAX)
  header?: string | null;

  /**
   * The token endpoint: required for the type `oauth`, allowed only there, and subject to the rules for `url`, also for its query. Access tokens
   * are requested with client credentials (RFC 6749, section 4.4) for the server's URL as `resource` (RFC 8707).
   */
  @IsNullableText(URL_MAX)
  token_url?: string | null;

  /** The client id of the type `oauth`. Required for this type, and allowed only there. */
  @IsNullableText(CLIENT_ID_MAX)
  client_id?: string | null;

  /** The scopes to request for the type `oauth`, separated by spaces. By default, the token endpoint chooses them. */
  @IsNullableText(SCOPE_MAX)
  scope?: string | null;
}

/** How the service authenticates to the server. */
@ReadOnlyMembersOf(() => StoredServerAuthDto)
export class ServerAuthDto extends AuthFieldsDto {
  @IsOneOf(AUTH_TYPES, {
    variants: {
      none: {},
      bearer: { value: true },
      header: { value: true, header: true },
      oauth: { client_secret: true, token_url: true, client_id: true, scope: false },
    },
  })
  type!: AuthType;

  @IsAuthSecret(
    'The secret, which the types `bearer` and `header` require. Stored encrypted, and never returned.',
  )
  value?: string | null;

  @IsAuthSecret('The secret, which the type `oauth` requires. Stored encrypted, and never returned.')
  client_secret?: string | null;
}

/** Omitted members do not change. */
@ReadOnlyMembersOf(() => StoredServerAuthDto)
export class PatchServerAuthDto extends AuthFieldsDto {
  @NotNull()
  @IsOneOf(AUTH_TYPES, { required: false })
  type?: AuthType;

  @IsAuthSecret(
    'A new secret; if omitted, the current one stays. Required (400) if the type, the header or the ' +
      'origin of the URL changes, because secrets are never sent to a new origin or in a new way.',
  )
  value?: string | null;

  @IsAuthSecret(
    'A new secret; if omitted, the current one stays. Required (400) if the type, the client id, or the ' +
      'origin of the token URL or of the URL changes, because secrets are never sent to a new origin or for ' +
      'another client.',
  )
  client_secret?: string | null;
}

/** How the service authenticates to the server, without the secret. */
export class ServerAuthViewDto {
  @ApiProperty({ enum: AUTH_TYPES })
  type!: AuthType;
  /** Null unless the type is `header`. */
  header!: string | null;
  /** With placeholders in its query, like `url`. Null unless the type is `oauth`. */
  token_url!: string | null;
  /** Null unless the type is `oauth`. */
  client_id!: string | null;
  /** The requested scopes. Null if the type is not `oauth`, or if the token endpoint chooses the scopes. */
  scope!: string | null;
}

/** How the service authenticates to the server, and whether it has a secret. */
export class StoredServerAuthDto extends ServerAuthViewDto {
  /**
   * Whether a secret of the type `bearer` or `header` is stored. A server that an app declares has no secret until you
   * send one with PATCH.
   */
  has_value!: boolean;
  /** Whether a client secret of the type `oauth` is stored. */
  has_client_secret!: boolean;
}

export const toAuthView = (row: AuthColumns): ServerAuthViewDto => ({
  type: row.auth_type,
  header: row.auth_header,
  token_url: row.auth_token_url,
  client_id: row.auth_client_id,
  scope: row.auth_scope,
});

export const toStoredAuthView = (
  row: AuthColumns & Pick<ServerEntity, 'auth_secret'>,
): StoredServerAuthDto => ({
  ...toAuthView(row),
  has_value: row.auth_secret !== null && row.auth_type !== 'oauth',
  has_client_secret: row.auth_secret !== null && row.auth_type === 'oauth',
});
