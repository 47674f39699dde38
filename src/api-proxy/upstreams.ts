import { Injectable } from '@nestjs/common';
import { OutboundHttp } from '#platform/outbound';
import { problem } from '#platform/problem';
import { ApiDirectory, type ApiTarget } from '../registry';
import { dashedName } from './proxy-headers';

/** A query parameter that carries a credential. */
interface Parameter {
  name: string;
  value: string;
}

/** The parts that all requests to an API have in common. */
export interface Upstream {
  origin: string;
  /** The path of the base URL. Empty for `/`. */
  basePath: string;
  /** The API's headers and its credential, by lower-case name. They replace the client's headers. */
  headers: ReadonlyMap<string, string>;
  /** The names of these headers, with dashes. See `dashedName`. */
  names: ReadonlySet<string>;
  parameter: Parameter | null;
}

/** Prepares requests to registered APIs. */
@Injectable()
export class Upstreams {
  /** Kept as long as `ApiDirectory` keeps the API. Opening a credential takes longer than all checks of a request. */
  private readonly prepared = new WeakMap<ApiTarget, Upstream>();

  constructor(
    private readonly apis: ApiDirectory,
    private readonly outbound: OutboundHttp,
  ) {}

  /** Errors: 503 for a credential that is missing or cannot be decrypted, `BlockedAddressError` for the base URL. */
  of(api: ApiTarget): Upstream {
    let upstream = this.prepared.get(api);
    if (!upstream) this.prepared.set(api, (upstream = this.prepare(api)));
    return upstream;
  }

  private prepare(api: ApiTarget): Upstream {
    const { base } = api;
    this.outbound.checkUrl(base);
    const headers = new Map(Object.entries(api.headers).map(([name, value]) => [name.toLowerCase(), value]));
    let parameter: Parameter | null = null;
    if (api.auth_type !== 'none') {
      const secret = this.secretOf(api);
      const name = api.auth_name ?? '';
      if (api.auth_type === 'query') parameter = { name, value: secret };
      else if (api.auth_type === 'header') headers.set(name.toLowerCase(), secret);
      else if (api.auth_type === 'bearer') headers.set('authorization', `Bearer ${secret}`);
      else headers.set('authorization', `Basic ${Buffer.from(secret).toString('base64')}`);
    }
    const names = new Set([...headers.keys()].map(dashedName));
    const basePath = base.pathname === '/' ? '' : base.pathname;
    return { origin: base.origin, basePath, headers, names, parameter };
  }

  private secretOf(api: ApiTarget): string {
    const secret = this.apis.secretOf(api);
    if (secret !== null) return secret;
    throw problem.unavailable('This API has no credential yet. Set its `auth.value`.');
  }
}

/**
 * Adds the parameter to a query, which includes the question mark. Errors: 400 if the client sent it, or a parameter that
 * some servers read as this one, because they ignore case and punctuation.
 */
export function withParameter(query: string, { name, value }: Parameter): string {
  const dashed = dashedName(name);
  if ([...new URLSearchParams(query).keys()].some((sent) => sent === name || dashedName(sent) === dashed)) {
    throw problem.invalidQuery(name, 'carries the credential of the API, which the service adds. Remove it');
  }
  const parameter = `${encodeURIComponent(name)}=${encodeURIComponent(value)}`;
  return query.length > 1 ? `${query}&${parameter}` : `?${parameter}`;
}
