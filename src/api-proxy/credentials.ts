import { Injectable } from '@nestjs/common';
import { problem } from '#platform/problem';
import { SealedSecretError } from '#platform/secrets';
import { ApiDirectory, type ApiTarget } from '../registry';

/** The headers and the query that carry an API's stored credential. */
export interface AppliedCredential {
  /** Headers by lower-case name. They replace the client's headers. */
  ownHeaders: ReadonlyMap<string, string>;
  /** Includes the question mark. Empty if there is no query. */
  query: string;
}

/** Adds the stored credential and headers of an API to requests. */
@Injectable()
export class Credentials {
  constructor(private readonly apis: ApiDirectory) {}

  /**
   * Errors: 400 for a query that already has the credential's parameter, 503 for a credential that is missing or cannot be
   * decrypted.
   */
  applyTo(api: ApiTarget, query: string): AppliedCredential {
    const ownHeaders = new Map(
      Object.entries(api.headers).map(([name, value]) => [name.toLowerCase(), value]),
    );
    if (api.auth_type === 'none') return { ownHeaders, query };
    const secret = this.secretOf(api);
    const name = api.auth_name ?? '';
    switch (api.auth_type) {
      case 'bearer':
        return { ownHeaders: ownHeaders.set('authorization', `Bearer ${secret}`), query };
      case 'basic':
        return {
          ownHeaders: ownHeaders.set('authorization', `Basic ${Buffer.from(secret).toString('base64')}`),
          query,
        };
      case 'header':
        return { ownHeaders: ownHeaders.set(name.toLowerCase(), secret), query };
      case 'query':
        return { ownHeaders, query: withParameter(query, name, secret) };
    }
  }

  private secretOf(api: ApiTarget): string {
    let secret: string | null;
    try {
      secret = this.apis.secretOf(api);
    } catch (error) {
      if (!(error instanceof SealedSecretError)) throw error;
      throw problem.unavailable(
        'The credential of this API cannot be decrypted, because SECRETS_KEY has changed. Set its `auth` again.',
        { cause: error },
      );
    }
    if (secret !== null) return secret;
    throw problem.unavailable('This API has no credential yet. Set its `auth.value`.');
  }
}

function withParameter(query: string, name: string, value: string): string {
  if (new URLSearchParams(query).has(name)) {
    throw problem.invalidQuery(name, 'carries the credential of the API, which the service adds. Remove it');
  }
  const parameter = `${encodeURIComponent(name)}=${encodeURIComponent(value)}`;
  return query.length > 1 ? `${query}&${parameter}` : `?${parameter}`;
}
