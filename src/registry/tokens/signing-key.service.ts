import { Injectable } from '@nestjs/common';
import {
  calculateJwkThumbprint,
  type CryptoKey,
  exportJWK,
  generateKeyPair,
  importJWK,
  type JWK,
} from 'jose';
import { Environment } from '#platform/config';
import { Database } from '#platform/db';
import { rootLogger } from '#platform/logging';
import { SecretBox, SealedSecretError } from '#platform/secrets';
import { type CurrentKey, SigningKeyRepository } from './signing-key.repository';

export const SIGNING_ALGORITHM = 'ES256';

/** Longest life of a token that this service issues, in seconds. */
export const TOKEN_SECONDS = 3600;

/** A new key is published for this long before it signs, so that whoever caches the key set has it by then. */
const ANNOUNCED_SECONDS = 600;
/** For this long a process goes on with the key it has read. */
const REMEMBERED_MS = 60_000;
/** A key is published until its last token has expired: with what a process remembers, and clocks that differ. */
const GRACE_SECONDS = TOKEN_SECONDS + REMEMBERED_MS / 1000 + 120;

export interface SigningKey {
  kid: string;
  key: CryptoKey;
}

/**
 * The key pairs by which this service signs its tokens, shared by all its processes through the database. A pair signs
 * for `SIGNING_KEY_DAYS`; the next one is made under a lock by whichever process signs first after that.
 */
@Injectable()
export class SigningKeyService {
  private remembered: { key: Promise<SigningKey>; until: number } | null = null;

  constructor(
    private readonly environment: Environment,
    private readonly database: Database,
    private readonly keys: SigningKeyRepository,
    private readonly box: SecretBox,
  ) {}

  /** The key that signs at present. */
  current(): Promise<SigningKey> {
    const now = performance.now();
    if (!this.remembered || this.remembered.until <= now) {
      const key = this.read();
      const remembered = { key, until: now + REMEMBERED_MS };
      this.remembered = remembered;
      // what failed is tried again by the next
      key.catch(() => {
        if (this.remembered === remembered) this.remembered = null;
      });
    }
    return this.remembered.key;
  }

  /** The public keys of all tokens that are still valid, newest first; those that sign soon are among them. */
  publicKeys(): Promise<JWK[]> {
    return this.keys.findPublic(GRACE_SECONDS);
  }

  private async read(): Promise<SigningKey> {
    const days = this.environment.SIGNING_KEY_DAYS;
    const current = await this.keys.findCurrent(days);
    const opened = current && (await this.open(current));
    if (opened && !current.due) return opened;
    return this.database.transaction(async (tx) => {
      await this.keys.lock(tx);
      // another process may have been first
      const present = await this.keys.findCurrent(days, tx);
      const usable = present && (await this.open(present));
      if (usable && !present.due) return usable;
      const { key, ...stored } = await this.make();
      await this.keys.add(tx, stored, usable ? ANNOUNCED_SECONDS : 0, GRACE_SECONDS);
      return usable ?? { kid: stored.kid, key };
    });
  }

  private async open({ kid, private_jwk }: CurrentKey): Promise<SigningKey | null> {
    try {
      const jwk = JSON.parse(this.box.open(private_jwk, useOf(kid))) as JWK;
      return { kid, key: (await importJWK(jwk, SIGNING_ALGORITHM)) as CryptoKey };
    } catch (error) {
      if (!(error instanceof SealedSecretError)) throw error;
      rootLogger.warn({ err: error, kid }, 'a signing key cannot be opened; another one is made');
      return null;
    }
  }

  private async make(): Promise<SigningKey & { publicJwk: JWK; sealed: string }> {
    const { privateKey, publicKey } = await generateKeyPair(SIGNING_ALGORITHM, { extractable: true });
    const bare = await exportJWK(publicKey);
    const kid = await calculateJwkThumbprint(bare);
    const sealed = this.box.seal(JSON.stringify(await exportJWK(privateKey)), useOf(kid));
    return {
      kid,
      key: privateKey,
      publicJwk: { ...bare, kid, alg: SIGNING_ALGORITHM, use: 'sig' },
      sealed,
    };
  }
}

const useOf = (kid: string): string => `signing-key:${kid}`;
