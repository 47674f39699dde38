import { ApiProperty } from '@nestjs/swagger';
import { IsNullableTime, IsOptionalText } from '#platform/http';
import { ProblemDto } from '#platform/problem';

/** The body of a key exchange, as a form (RFC 6749, section 4.4) or as JSON. */
export class TokenRequestDto {
  /** `client_credentials`. Optional with `api_key`. */
  @IsOptionalText()
  grant_type?: string;

  /** Optional. If sent, it must be the service account of the key (otherwise 401). */
  @IsOptionalText()
  client_id?: string;

  /** The API key. You can also send it as `api_key`, or as the password of HTTP Basic authentication. */
  @IsOptionalText()
  client_secret?: string;

  /** The API key. */
  @IsOptionalText()
  api_key?: string;

  /** The URL at which the token will be used (RFC 8707). Ignored, because tokens are valid for the whole service. */
  @IsOptionalText(2048)
  resource?: string;
}

/** The errors of a key exchange (RFC 6749, section 5.2). */
export const OAUTH_ERRORS = ['invalid_request', 'invalid_client', 'unsupported_grant_type'] as const;

/** A problem with the members that OAuth 2 clients read. */
export class TokenProblemDto extends ProblemDto {
  /** 401: `invalid_client`. 400: `unsupported_grant_type` for another grant type, otherwise `invalid_request`. */
  @ApiProperty({ enum: OAUTH_ERRORS })
  error?: (typeof OAUTH_ERRORS)[number];
  /** The `detail`, for OAuth clients. */
  error_description?: string;
}

/** The metadata of an authorization server (RFC 8414, section 2). */
export class AuthorizationServerDto {
  issuer!: string;
  /** The documentation page, because the service has no browser authorization. Some clients require the member. */
  authorization_endpoint!: string;
  token_endpoint!: string;
  jwks_uri!: string;
  grant_types_supported!: string[];
  token_endpoint_auth_methods_supported!: string[];
  /** Empty, because there is no authorization endpoint. */
  response_types_supported!: string[];
}

/** The token that replaces an API key (RFC 6749, section 5.1). */
export class TokenDto {
  access_token!: string;
  @ApiProperty({ enum: ['Bearer'] })
  token_type!: 'Bearer';
  /** Seconds until the token expires. */
  @ApiProperty({ type: 'integer', format: 'int32', minimum: 1, maximum: 3600 })
  expires_in!: number;
}

/** The token to revoke, or its `jti`, as a form (RFC 7009) or as JSON. */
export class RevokeTokenDto {
  @IsOptionalText(8192)
  token?: string;

  /**
   * The id of a token of the organization. Requires the role `admin` in the whole organization, unless you send the request
   * with that token.
   */
  @IsOptionalText(1024)
  jti?: string;

  /** The issuer of the token with this `jti`. Defaults to this service. */
  @IsOptionalText(1024)
  issuer?: string;

  /**
   * When the token expires; used only with the `jti` of a token from another issuer. The revocation is stored until then, or
   * forever if you omit this member.
   */
  @IsNullableTime()
  expires_at?: string | null;
}

/** A revoked token. */
export class RevokedTokenDto {
  issuer!: string;
  jti!: string;
  /** The time until which the revocation is stored. Null means forever. */
  expires_at!: Date | null;
}

/**
 * A JWK set (RFC 7517): the public keys of the tokens that this service issues, and the public keys that organizations sign
 * with. Keys with `org_id` never verify tokens.
 */
export class JwksDto {
  @ApiProperty({ type: 'array', items: { type: 'object', additionalProperties: true } })
  keys!: object[];
}
