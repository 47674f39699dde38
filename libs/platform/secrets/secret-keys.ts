import { createHmac, hkdfSync } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { Environment } from '#platform/config';

const KEY_BYTES = 32;

/** Throws what is wrong with `SECRETS_KEY`, where it is missing or does not hold. */
export function checkSecretsKey(environment: Pick<Environment, 'SECRETS_KEY'>): void {
  new SecretKeys(environment);
}

/**
 * The keys that are derived from `SECRETS_KEY`, one for each purpose (HKDF-SHA-256, RFC 5869), so that what is made
 * with one of them is worth nothing to another. Construction fails, and with it the start, without `SECRETS_KEY`.
 */
@Injectable()
export class SecretKeys {
  /** Names the present `SECRETS_KEY` beside what was encrypted with it; tells nothing of the key itself. */
  readonly id: string;
  private readonly master: Buffer;
  private readonly derived = new Map<string, Buffer>();

  constructor({ SECRETS_KEY }: Pick<Environment, 'SECRETS_KEY'>) {
    if (!SECRETS_KEY) {
      throw new Error(
        'SECRETS_KEY is required: 32 bytes in base64, the same in every process (openssl rand -base64 32).',
      );
    }
    this.master = Buffer.from(SECRETS_KEY, 'base64');
    if (this.master.length !== KEY_BYTES) throw new Error('SECRETS_KEY: must be 32 bytes in base64.');
    this.id = this.derive('key id').toString('hex').slice(0, 16);
  }

  /** 32 bytes for one purpose. */
  derive(purpose: string): Buffer {
    let key = this.derived.get(purpose);
    if (!key) {
      key = Buffer.from(hkdfSync('sha256', this.master, '', purpose, KEY_BYTES));
      this.derived.set(purpose, key);
    }
    return key;
  }

  /** HMAC-SHA-256 of a value under the key of a purpose: what is stored of a secret that need only be recognised. */
  mac(purpose: string, value: string): Buffer {
    return createHmac('sha256', this.derive(purpose)).update(value).digest();
  }
}
