import { Injectable } from '@nestjs/common';
import { problem } from '#platform/problem';
import { SealedSecretError } from '#platform/secrets';
import { ApiDirectory, type ApiTarget } from '../registry';

/** What a request to an API gets besides what the client sent. */
export interface Applied {
  /** Headers by lower-case name, which replace those of the client. */
  own: ReadonlyMap<string, string>;
  /** The query with its question mark; empty without one. */
  query: string;
}

/** Adds the stored credential and headers of an API to requests. */
@Injectable()
export class Credentials {
  constructor(private readonly apis: ApiDirectory) {}

  /** Errors: 400 for a query that has the parameter of the credential, 503 for a credential that is missing or cannot be read. */
  applied(api: ApiTarget, query: string): Applied {
    const own = new Map(Object.entries(api.headers).map(([name, value]) => [name.toLowerCase(), value]));
    if (api.auth_type === 'none') return { own, query };
    const secret = this.secretOf(api);
    const name = api.auth_name ?? '';
    switch (api.auth_type) {
      case 'bearer':
        return { own: own.set('authorization', `Bearer ${secret}`), query };
      case 'basic':
        return { own: own.set('authorization', `Basic ${Buffer.from(secret).toString('base64')}`), query };
      case 'header':
        return { own: own.set(name.toLowerCase(), secret), query };
      case 'query':
        return { own, query: withParameter(query, name, secret) };
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
    throw problem.unavailable('This API has no credential yet. Set `auth.value` with a PATCH of the API.');
  }
}

function withParameter(query: string, name: string, value: string): string {
  const given = new URLSearchParams(query);
  if (given.has(name)) {
    throw problem.invalidQuery(name, 'is the credential of the API, which the service adds. Remove it');
  }
  const parameter = `${encodeURIComponent(name)}=${encodeURIComponent(value)}`;
  return query.length > 1 ? `${query}&${parameter}` : `?${parameter}`;
}
