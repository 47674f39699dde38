import { randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { API_KEY_PREFIX } from '#platform/auth';
import { SecretKeys } from '#platform/secrets';

const RANDOM_BYTES = 32;
const KEY_PATTERN = new RegExp(`^${API_KEY_PREFIX}[A-Za-z0-9_-]{43}$`);
/** Length of the part of a key that is shown: enough to tell keys apart, too little to guess the rest. */
const PREFIX_LENGTH = API_KEY_PREFIX.length + 6;

/** Creates API keys and the keyed hashes stored for them. */
@Injectable()
export class ApiKeySecrets {
  constructor(private readonly keys: SecretKeys) {}

  /** Creates a key: `rsk_` and 32 random bytes in base64url. */
  create(): { key: string; prefix: string; hash: Buffer } {
    const key = API_KEY_PREFIX + randomBytes(RANDOM_BYTES).toString('base64url');
    return { key, prefix: key.slice(0, PREFIX_LENGTH), hash: this.keys.mac('api key', key) };
  }

  /** Returns the hash of a key, or null if the text does not have the form of a key. */
  hashOf(key: string): Buffer | null {
    return KEY_PATTERN.test(key) ? this.keys.mac('api key', key) : null;
  }
}
