import { Injectable } from '@nestjs/common';
import { SignJWT } from 'jose';
import { Authenticator, API_KEY_PREFIX, ownIssuer, type Principal } from '#platform/auth';
import { Environment } from '#platform/config';
import { type Problem, problem } from '#platform/problem';
import type { KeyExchange } from './key-exchange.request';
import { SIGNING_ALGORITHM, SigningKeyService, TOKEN_SECONDS } from './signing-key.service';
import type { TokenDto } from './token.dto';
import { newTokenId } from './token-id';

/** Exchanges API keys for tokens. */
@Injectable()
export class TokenService {
  private readonly issuer: string;

  constructor(
    private readonly environment: Environment,
    private readonly authenticator: Authenticator,
    private readonly signingKeys: SigningKeyService,
  ) {
    this.issuer = ownIssuer(environment);
  }

  /**
   * Returns a token for the service account of a key, valid for an hour or until the key expires. The token carries no roles,
   * because each request uses the roles that are stored at that time. Errors: 401 as for a request with the key.
   */
  async exchange({ apiKey, clientId }: KeyExchange): Promise<TokenDto> {
    if (!apiKey.startsWith(API_KEY_PREFIX)) throw invalidKey();
    const principal = await this.authenticator.verify(apiKey);
    if (clientId !== undefined && clientId !== principal.id) throw invalidKey();
    const { credential } = principal;
    if (credential.kind !== 'api_key') throw invalidKey();
    const issuedAt = Math.floor(Date.now() / 1000);
    const keyExpires = Math.floor((credential.expiresAt?.getTime() ?? Infinity) / 1000);
    const expires = Math.max(Math.min(issuedAt + TOKEN_SECONDS, keyExpires), issuedAt + 1);
    return {
      access_token: await this.sign(principal, credential.keyId, issuedAt, expires),
      token_type: 'Bearer',
      expires_in: expires - issuedAt,
    };
  }

  private async sign(
    principal: Principal,
    keyId: string,
    issuedAt: number,
    expires: number,
  ): Promise<string> {
    const { kid, key } = await this.signingKeys.current();
    const claims = {
      org_id: principal.orgId,
      service_account_id: principal.id,
      principal_type: principal.type,
    };
    return new SignJWT(claims)
      .setProtectedHeader({ alg: SIGNING_ALGORITHM, kid, typ: 'at+jwt' })
      .setIssuer(this.issuer)
      .setSubject(principal.id)
      .setAudience(this.environment.AUTH_AUDIENCE)
      .setIssuedAt(issuedAt)
      .setExpirationTime(expires)
      .setJti(newTokenId(keyId))
      .sign(key);
  }
}

const invalidKey = (): Problem =>
  problem.unauthenticated('invalid_api_key', 'The API key is unknown, or does not belong to `client_id`.');
