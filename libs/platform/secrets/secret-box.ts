import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { KeyRing } from './key-ring';
import type { SecretUse } from './sealed-column';

const VERSION = 'v1';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** A sealed secret cannot be opened, because it was sealed for another use, or was altered. */
export class SealedSecretError extends Error {}

/**
 * Encrypts secrets for storage (AES-256-GCM, NIST SP 800-38D, with a random 96-bit nonce each time). A sealed secret is a
 * text: `v1.<key id>.<nonce, ciphertext and tag in base64url>`.
 */
@Injectable()
export class SecretBox {
  constructor(private readonly ring: KeyRing) {}

  /**
   * @param use the row and column of the secret. It is authenticated and not stored, so that a sealed secret copied to another
   *   row cannot be opened there.
   */
  seal(secret: string, use: SecretUse): string {
    const { sealingId } = this.ring;
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv('aes-256-gcm', this.ring.find(sealingId)!, nonce);
    cipher.setAAD(Buffer.from(use));
    const body = Buffer.concat([nonce, cipher.update(secret, 'utf8'), cipher.final(), cipher.getAuthTag()]);
    return `${VERSION}.${sealingId}.${body.toString('base64url')}`;
  }

  /** @throws SealedSecretError, whose message contains neither the secret nor the key */
  open(sealed: string, use: SecretUse): string {
    const [version, keyId, text] = sealed.split('.');
    if (version !== VERSION || text === undefined) throw new SealedSecretError('not a sealed secret');
    const key = this.ring.find(keyId!);
    if (key === undefined)
      throw new SealedSecretError(`sealed with the key ${keyId}, which is not in SECRETS_KEYS`);
    const body = Buffer.from(text, 'base64url');
    if (body.length < NONCE_BYTES + TAG_BYTES) throw new SealedSecretError('not a sealed secret');
    const decipher = createDecipheriv('aes-256-gcm', key, body.subarray(0, NONCE_BYTES), {
      authTagLength: TAG_BYTES,
    });
    decipher.setAAD(Buffer.from(use));
    decipher.setAuthTag(body.subarray(body.length - TAG_BYTES));
    try {
      const secret = decipher.update(body.subarray(NONCE_BYTES, body.length - TAG_BYTES));
      return Buffer.concat([secret, decipher.final()]).toString('utf8');
    } catch {
      throw new SealedSecretError('altered, or sealed for another use');
    }
  }

  /** Tells whether a sealed secret equals this one. False for a sealed secret that cannot be opened. */
  isSame(sealed: string | null, secret: string, use: SecretUse): boolean {
    if (sealed === null) return false;
    try {
      return this.open(sealed, use) === secret;
    } catch (error) {
      if (error instanceof SealedSecretError) return false;
      throw error;
    }
  }
}

/** Returns the id of the key that sealed a secret. */
export const keyIdOf = (sealed: string): string => sealed.split('.')[1]!;
