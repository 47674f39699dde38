import { createHash } from 'node:crypto';
import type { Environment } from '#platform/config';
import { StartError } from '#platform/process';

const KEY_BYTES = 32;
/** Characters of a key's id. */
const ID_LENGTH = 16;

type Keys = Pick<Environment, 'SECRETS_KEY' | 'SECRETS_KEYS'>;

/**
 * The keys of `SECRETS_KEYS`. Any of them opens secrets, and one of them seals. The database says which one, so that no process
 * seals with a key that another process does not hold yet.
 */
export class KeyRing {
  private readonly keys: ReadonlyMap<string, Buffer>;
  private sealing: string;

  /** @throws StartError if there is no key, or one that is not 32 bytes */
  constructor({ SECRETS_KEY, SECRETS_KEYS = SECRETS_KEY ? [SECRETS_KEY] : [] }: Keys) {
    const keys = SECRETS_KEYS.map((text) => Buffer.from(text, 'base64'));
    if (keys.some(({ length }) => length !== KEY_BYTES)) {
      throw new StartError('SECRETS_KEYS: must be keys of 32 bytes in base64, separated by commas.');
    }
    this.keys = new Map(keys.map((key) => [idOf(key), key]));
    const [newest] = this.keys.keys();
    if (newest === undefined) {
      throw new StartError(
        'SECRETS_KEYS is required. Set it to 32 bytes in base64, the same in every process (openssl rand -base64 32).',
      );
    }
    this.sealing = newest;
  }

  /** The ids of the keys, newest first. */
  get ids(): readonly string[] {
    return [...this.keys.keys()];
  }

  /** The id of the key that seals. */
  get sealingId(): string {
    return this.sealing;
  }

  /** Returns a key, or undefined if the ring does not hold it. */
  find(id: string): Buffer | undefined {
    return this.keys.get(id);
  }

  /** Seals with this key from now on. @throws StartError if the ring does not hold it */
  sealWith(id: string): void {
    this.check([id]);
    this.sealing = id;
  }

  /** @throws StartError if the ring does not hold all of these keys */
  check(ids: readonly string[]): void {
    const missing = ids.filter((id) => !this.keys.has(id));
    if (missing.length === 0) return;
    throw new StartError(
      `The secrets in the database are encrypted with the key ${missing.join(' and ')}, which SECRETS_KEYS does not hold (it holds ${this.ids.join(', ')}); add that key to it, or to secrets.key in DATA_DIR if \`npm start\` keeps the keys there.`,
    );
  }
}

/** Identifies a key without revealing it: the first 16 hexadecimal digits of its SHA-256. */
const idOf = (key: Buffer): string => createHash('sha256').update(key).digest('hex').slice(0, ID_LENGTH);
