import { createHmac, hkdfSync } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import type { Environment } from '#platform/config';
import { StartError } from '#platform/process';

const KEY_BYTES = 32;

/** Throws a StartError if `SECRETS_KEY` is missing or invalid. */
export function checkSecretsKey(environment: Pick<Environment, 'SECRETS_KEY'>): void {
  new SecretKeys(environment);
}

/**
 * Derives a key for each purpose from `SECRETS_KEY` (HKDF-SHA-256, RFC 5869), so that a value made for one purpose is
 * useless for another. Without `SECRETS_KEY` the constructor throws, which stops the start.
 */
@Injectable()
export class SecretKeys {
  /** Identifies `SECRETS_KEY` in encrypted values, without revealing it. */
  readonly id: string;
  private readonly master: Buffer;
  private readonly derived = new Map<string, Buffer>();

  constructor({ SECRETS_KEY }: Pick<Environment, 'SECRETS_KEY'>) {
    if (!SECRETS_KEY) {
      throw new StartError(
        'SECRETS_KEY is required. Set it to 32 bytes in base64, the same in every process (openssl rand -base64 32).',
      );
    }
    this.master = Buffer.from(SECRETS_KEY, 'base64');
    if (this.master.length !== KEY_BYTES) throw new StartError('SECRETS_KEY: must be 32 bytes in base64.');
    this.id = this.derive('key id').toString('hex').slice(0, 16);
  }

  /** Returns the key of a purpose, 32 bytes. */
  derive(purpose: string): Buffer {
    let key = this.derived.get(purpose);
    if (!key) {
      key = Buffer.from(hkdfSync('sha256', this.master, '', purpose, KEY_BYTES));
      this.derived.set(purpose, key);
    }
    return key;
  }

  /** Returns the HMAC-SHA-256 of a value with the key of a purpose. Stored for secrets that only need to be recognized. */
  mac(purpose: string, value: string): Buffer {
    return createHmac('sha256', this.derive(purpose)).update(value).digest();
  }
}
