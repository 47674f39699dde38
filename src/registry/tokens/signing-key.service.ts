import { Injectable } from '@nestjs/common';
import {
  calculateJwkThumbprint,
  type CryptoKey,
  exportJWK,
  generateKeyPair,
  importJWK,
  type JWK,
} from 'jose';
import { LoadingCache } from '#platform/concurrency';
import { Environment } from '#platform/config';
import { Database } from '#platform/db';
import { SealedColumn, SecretBox } from '#platform/secrets';
import { type CurrentKey, SigningKeyRepository } from './signing-key.repository';

export const SIGNING_KEY_SECRET = new SealedColumn('signing_keys', 'private_jwk', 'kid');

export const SIGNING_ALGORITHM = 'ES256';

/** Maximum lifetime of a token that this service issues, in seconds. */
export const TOKEN_SECONDS = 3600;

/** How long a new key is published before it signs, so that cached key sets contain it in time. */
const ANNOUNCED_SECONDS = 600;
/** How long a process caches the current key. */
const CACHED_MS = 60_000;
/** How long a key stays published after it last signed: until its last token expires, plus caching and clock skew. */
const GRACE_SECONDS = TOKEN_SECONDS + CACHED_MS / 1000 + 120;

export interface SigningKey {
  kid: string;
  key: CryptoKey;
}

/**
 * Manages the key pairs that sign the tokens of this service. All processes share them through the database. A pair signs for
 * `SIGNING_KEY_DAYS`. The first process that signs after that creates the next pair under a lock.
 */
@Injectable()
export class SigningKeyService {
  private readonly cache = new LoadingCache<SigningKey>({ lifetimeMs: CACHED_MS });

  constructor(
    private readonly environment: Environment,
    private readonly database: Database,
    private readonly keys: SigningKeyRepository,
    private readonly box: SecretBox,
  ) {}

  /** Returns the key that currently signs. */
  current(): Promise<SigningKey> {
    return this.cache.find('current', () => this.read());
  }

  /** Returns the public keys of all valid tokens and of the next key, newest first. */
  publicKeys(): Promise<JWK[]> {
    return this.keys.findPublic(GRACE_SECONDS);
  }

  private async read(): Promise<SigningKey> {
    const days = this.environment.SIGNING_KEY_DAYS;
    const current = await this.keys.findCurrent(days);
    if (current && !current.due) return this.open(current);
    return this.database.transaction(async (tx) => {
      await this.keys.lock(tx);
      // Another process may have been first.
      const latest = await this.keys.findCurrent(days, tx);
      if (latest && !latest.due) return this.open(latest);
      const { key, ...stored } = await this.create();
      await this.keys.add(tx, stored, latest ? ANNOUNCED_SECONDS : 0, GRACE_SECONDS);
      return latest ? this.open(latest) : { kid: stored.kid, key };
    });
  }

  private async open({ kid, private_jwk }: CurrentKey): Promise<SigningKey> {
    const jwk = JSON.parse(this.box.open(private_jwk, SIGNING_KEY_SECRET.of(kid))) as JWK;
    return { kid, key: (await importJWK(jwk, SIGNING_ALGORITHM)) as CryptoKey };
  }

  private async create(): Promise<SigningKey & { publicJwk: JWK; sealed: string }> {
    const { privateKey, publicKey } = await generateKeyPair(SIGNING_ALGORITHM, { extractable: true });
    const bare = await exportJWK(publicKey);
    const kid = await calculateJwkThumbprint(bare);
    const sealed = this.box.seal(JSON.stringify(await exportJWK(privateKey)), SIGNING_KEY_SECRET.of(kid));
    return {
      kid,
      key: privateKey,
      publicJwk: { ...bare, kid, alg: SIGNING_ALGORITHM, use: 'sig' },
      sealed,
    };
  }
}
