import { SingleFlight } from '#platform/concurrency';
import { rootLogger } from '#platform/logging';
import { Problem, problem } from '#platform/problem';
import type { Algorithm } from './algorithms';
import { VerificationKey } from './verification-key';

/** Reads the JWK set of an issuer. Rejects if the set cannot be read. */
export type KeySource = () => Promise<unknown>;

export interface KeySetRules {
  /** Milliseconds after which a set is read again. */
  freshMs: number;
  /** Minimum milliseconds between two reads that are caused by a `kid` that is not in the set. */
  unknownKidMs: number;
}

/** Rules for foreign issuers. A key that its issuer withdraws is trusted for up to ten more minutes. */
export const REMOTE_RULES: KeySetRules = { freshMs: 600_000, unknownKidMs: 30_000 };

/** Pause after a failed read, with and without cached keys. */
const RETRY_MS = 30_000;
const RETRY_WITHOUT_KEYS_MS = 1_000;

/**
 * The keys of one issuer, read when first needed. Concurrent callers share one read. An unknown key causes another read,
 * at a limited rate. While the source cannot be reached, the cached keys stay in use.
 */
export class KeySet {
  private keys: VerificationKey[] | null = null;
  private readAt = -Infinity;
  private failedAt = -Infinity;
  private unknownKidAt = -Infinity;
  private readonly reads = new SingleFlight<void>();

  constructor(
    private readonly issuer: string,
    private readonly source: KeySource,
    private readonly rules: KeySetRules,
    private readonly now: () => number = () => performance.now(),
  ) {}

  /**
   * Returns the key that a token names.
   *
   * @param algorithm chooses between keys of the same `kid`. The key returned may not fit it.
   * @throws 401 `unknown_key` if there is no such key, or if the token names none and the issuer does not have exactly
   *   one; 503 `auth_unavailable` if the source cannot be reached and no keys are cached
   */
  async find(kid: string | undefined, algorithm: Algorithm): Promise<VerificationKey> {
    await this.ensureRead();
    let key = this.findKey(kid, algorithm);
    const reading = this.reads.pending(this.issuer);
    if (!key && kid !== undefined && this.mayReadForKid()) {
      this.unknownKidAt = this.now();
      await this.read();
      key = this.findKey(kid, algorithm);
    } else if (!key && reading) {
      await reading;
      key = this.findKey(kid, algorithm);
    }
    if (key) return key;
    throw problem.unauthenticated(
      'unknown_key',
      kid === undefined
        ? 'The token has no kid, and its issuer does not publish exactly one key.'
        : 'The issuer of the token publishes no key with the kid of the token.',
    );
  }

  private findKey(kid: string | undefined, algorithm: Algorithm): VerificationKey | undefined {
    const keys = this.keys ?? [];
    if (kid === undefined) return keys.length === 1 ? keys[0] : undefined;
    const named = keys.filter((key) => key.kid === kid);
    return named.find((key) => key.fits(algorithm)) ?? named[0];
  }

  private mayReadForKid(): boolean {
    return this.now() - this.unknownKidAt >= this.rules.unknownKidMs;
  }

  private async ensureRead(): Promise<void> {
    const now = this.now();
    if (this.keys && now - this.readAt < this.rules.freshMs) return;
    const wait = this.keys ? RETRY_MS : RETRY_WITHOUT_KEYS_MS;
    const failing = this.failedAt > this.readAt;
    if (!failing || now - this.failedAt >= wait) {
      const reading = this.read();
      // with cached keys, callers do not wait for a failing source
      if (!this.keys || !failing) await reading;
    } else if (!this.keys) {
      await this.reads.pending(this.issuer);
    }
    if (!this.keys) {
      throw new Problem('auth_unavailable', "The keys of the token's issuer cannot be read. Try again.", {
        headers: { 'Retry-After': '1' },
      });
    }
  }

  /** Reads the source, or joins a read in flight. Never rejects: a failed read keeps the cached keys. */
  private read(): Promise<void> {
    return this.reads.run(this.issuer, undefined, () => this.readOnce());
  }

  private async readOnce(): Promise<void> {
    try {
      const keys = await VerificationKey.readSet(await this.source());
      if (!keys) throw new Error('the response is not a JWK set');
      this.keys = keys;
      this.readAt = this.now();
    } catch (error) {
      this.failedAt = this.now();
      rootLogger.warn({ err: error, issuer: this.issuer }, 'cannot read the keys of a token issuer');
    }
  }
}
