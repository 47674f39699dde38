import { Injectable } from '@nestjs/common';
import type { Environment } from '#platform/config';
import { StartError } from '#platform/process';
import type { AccountDirectory } from './account-directory';
import { type IssuerConfig, parseIssuers } from './issuer.config';
import { jwksAt } from './jwks.client';
import { KeySet, type KeySetRules, REMOTE_RULES } from './key-set';
import { ROLES } from '#platform/scope';
import { VerificationKey } from './verification-key';

/** An issuer whose tokens the service accepts, with its keys. */
export interface TrustedIssuer extends Omit<IssuerConfig, 'keys'> {
  readonly keys: KeySet;
}

/** `iss` of this service's own tokens if `PUBLIC_URL` is not set. */
const OWN_ISSUER = 'agent-registry-service';

/** Rules for own keys: a read is one query, and another process may have just created a key. */
const OWN_RULES: KeySetRules = { freshMs: 60_000, unknownKidMs: 1_000 };
const INLINE_RULES: KeySetRules = { freshMs: Infinity, unknownKidMs: Infinity };

/** Returns the `iss` of the tokens that this service issues. */
export const ownIssuer = ({ PUBLIC_URL }: Environment): string =>
  PUBLIC_URL?.replace(/\/+$/, '') ?? OWN_ISSUER;

/** Validates `AUTH_ISSUERS` and its keys. Throws a StartError that names the entry, the member and the rule it breaks. */
export async function checkIssuers(environment: Environment): Promise<void> {
  await foreignIssuers(environment);
}

/** The issuers that `AUTH_ISSUERS` names, and the service itself. */
@Injectable()
export class TrustedIssuers {
  private constructor(private readonly byName: ReadonlyMap<string, TrustedIssuer>) {}

  /** Reads the configuration. Throws if it is invalid, which stops the start. */
  static async read(environment: Environment, directory: AccountDirectory): Promise<TrustedIssuers> {
    const own = ownEntry(ownIssuer(environment), environment, directory);
    const all = [own, ...(await foreignIssuers(environment))];
    return new TrustedIssuers(new Map(all.map((one) => [one.issuer, one])));
  }

  /**
   * Returns the issuers of `AUTH_ISSUERS` that are URLs and speak for all organizations. Which identity provider a single
   * organization uses is not public.
   */
  publicUrls(): string[] {
    const foreign = [...this.byName.values()].slice(1);
    return foreign.flatMap(({ issuer, orgIds }) => (orgIds === '*' && URL.canParse(issuer) ? issuer : []));
  }

  find(issuer: string | null): TrustedIssuer | undefined {
    return issuer === null ? undefined : this.byName.get(issuer);
  }
}

async function foreignIssuers(environment: Environment): Promise<TrustedIssuer[]> {
  const own = ownIssuer(environment);
  return Promise.all(
    parseIssuers(environment.AUTH_ISSUERS).map(async (config, i) => {
      if (config.issuer !== own) return { ...config, keys: await keysOf(config, i) };
      throw new StartError(`AUTH_ISSUERS[${i}].issuer: must not be this service's own issuer (PUBLIC_URL).`);
    }),
  );
}

/** This service as an issuer. Its tokens name service accounts only, and carry their stored roles. */
const ownEntry = (issuer: string, environment: Environment, directory: AccountDirectory): TrustedIssuer => ({
  issuer,
  audience: [environment.AUTH_AUDIENCE],
  keys: new KeySet(issuer, async () => ({ keys: await directory.ownKeys() }), OWN_RULES),
  algorithms: ['ES256'],
  orgIds: '*',
  roles: new Set(ROLES),
  platform: false,
  claims: {},
  provision: false,
});

async function keysOf({ issuer, keys }: IssuerConfig, i: number): Promise<KeySet> {
  if ('uri' in keys) return new KeySet(issuer, jwksAt(keys.uri), REMOTE_RULES);
  const { set } = keys;
  const count = (set as { keys: unknown[] }).keys.length;
  const usable = await VerificationKey.readSet(set);
  if (usable?.length !== count) {
    throw new StartError(
      `AUTH_ISSUERS[${i}].jwks: contains an unusable key. Use public signature keys: RSA of at least 2048 bits, ` +
        'P-256, P-384, P-521 or Ed25519.',
    );
  }
  return new KeySet(issuer, () => Promise.resolve(set), INLINE_RULES);
}
