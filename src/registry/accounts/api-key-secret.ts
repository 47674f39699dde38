import { randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { API_KEY_PREFIX } from '#platform/auth';
import { SecretKeys } from '#platform/secrets';

const RANDOM_BYTES = 32;
const FORM = new RegExp(`^${API_KEY_PREFIX}[A-Za-z0-9_-]{43}$`);
/** Characters of a key that are shown: enough to tell keys apart, and too few to guess the rest. */
const SHOWN_LENGTH = API_KEY_PREFIX.length + 6;

/** Creates API keys and the keyed hashes stored for them. */
@Injectable()
export class ApiKeySecrets {
  constructor(private readonly keys: SecretKeys) {}

  /** Makes a key: `rsk_` and 32 random bytes in base64url. */
  make(): { key: string; prefix: string; hash: Buffer } {
    const key = API_KEY_PREFIX + randomBytes(RANDOM_BYTES).toString('base64url');
    return { key, prefix: key.slice(0, SHOWN_LENGTH), hash: this.keys.mac('api key', key) };
  }

  /** Returns the hash of a key, or null for a text that does not look like a key. */
  hashOf(key: string): Buffer | null {
    return FORM.test(key) ? this.keys.mac('api key', key) : null;
  }
}
