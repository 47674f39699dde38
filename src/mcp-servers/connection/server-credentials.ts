import { Injectable } from '@nestjs/common';
import { SecretBox } from '#platform/secrets';
import { SERVER_SECRET, type ServerEntity, type TARGET_FIELDS } from '../servers/server.entity';
import { type FullUrls, fullUrls } from '../servers/server-urls';
import { type OAuthTarget, OAuthTokens } from './oauth-tokens';
import { ServerFailure } from './server-failure';

/** A server to connect to. */
export type ConnectionTarget = Pick<
  ServerEntity,
  (typeof TARGET_FIELDS)[number] | 'server_id' | 'org_id' | 'workspace_id'
>;

/** The header that authenticates the service to a server, and the secret in it. */
export interface Credential {
  header: string;
  value: string;
  secret: string;
  /** Whether the secret is an access token that a token endpoint issued. */
  isIssued: boolean;
}

/** Creates the header that authenticates the service to a server. */
@Injectable()
export class ServerCredentials {
  constructor(
    private readonly box: SecretBox,
    private readonly tokens: OAuthTokens,
  ) {}

  /**
   * Returns the credential of a server, or null if it has no secret. Requests an access token for the type `oauth`.
   *
   * @throws ServerFailure if no token can be obtained
   */
  async of(server: ConnectionTarget, http: typeof fetch, signal: AbortSignal): Promise<Credential | null> {
    const { server_id, auth_type, auth_header, auth_secret } = server;
    if (auth_secret === null || auth_type === 'none') return null;
    if (auth_type === 'oauth')
      return bearer(await this.tokens.token(this.oauthTarget(server), http, signal), true);
    const secret = this.box.open(auth_secret, SERVER_SECRET.of(server_id));
    if (auth_type === 'bearer') return bearer(secret, false);
    return { header: auth_header!, value: secret, secret, isIssued: false };
  }

  /** Forgets an access token that the server rejected. @returns false if the credential is not an access token */
  forget(server: ConnectionTarget, { secret, isIssued }: Credential): boolean {
    if (!isIssued) return false;
    this.tokens.forget(this.oauthTarget(server), secret);
    return true;
  }

  /** Returns the URLs of a server, with their queries. @throws ServerFailure if they are not stored */
  urlsOf(server: ConnectionTarget): FullUrls {
    const urls = fullUrls(server, this.box);
    if (urls) return urls;
    const message = 'A part of the query of `url` or `auth.token_url` is not stored. Send the whole URL.';
    throw new ServerFailure('unauthorized', message);
  }

  private oauthTarget(server: ConnectionTarget): OAuthTarget {
    return { ...server, auth_token_url: this.urlsOf(server).auth_token_url };
  }
}

const bearer = (secret: string, isIssued: boolean): Credential => ({
  header: 'Authorization',
  value: `Bearer ${secret}`,
  secret,
  isIssued,
});
