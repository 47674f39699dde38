import { createHmac, hkdfSync } from 'node:crypto';

const KEY_BYTES = 32;

/**
 * Derives a key for each purpose from the secret of the installation (HKDF-SHA-256, RFC 5869), so that a value made for one
 * purpose is useless for another. The secret is stored, sealed by the key ring, so that it outlives every key of the ring.
 */
export class SecretKeys {
  private readonly derived = new Map<string, Buffer>();

  /** @param secret 32 random bytes */
  constructor(private readonly secret: Buffer) {}

  /** Returns the HMAC-SHA-256 of a value with the key of a purpose. Stored for secrets that only need to be recognized. */
  mac(purpose: string, value: string): Buffer {
    return createHmac('sha256', this.keyOf(purpose)).update(value).digest();
  }

  private keyOf(purpose: string): Buffer {
    let key = this.derived.get(purpose);
    if (!key) {
      key = Buffer.from(hkdfSync('sha256', this.secret, '', purpose, KEY_BYTES));
      this.derived.set(purpose, key);
    }
    return key;
  }
}
