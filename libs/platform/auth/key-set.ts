import { SingleFlight } from '#platform/concurrency';
import { rootLogger } from '#platform/logging';
import { Problem, problem } from '#platform/problem';
import type { Algorithm } from './algorithms';
import { VerificationKey } from './verification-key';

/** Reads the JWK set of an issuer from where it is; rejects when that cannot be done. */
export type KeySource = () => Promise<unknown>;

export interface KeySetRules {
  /** Milliseconds for which a set that was read is believed without asking again. */
  freshMs: number;
  /** Milliseconds that pass at least between two readings because of a `kid` that is not in the set. */
  unknownKidMs: number;
}

/** Keys of foreign issuers. Ten minutes is how long a key that its issuer withdrew may still be believed. */
export const REMOTE_RULES: KeySetRules = { freshMs: 600_000, unknownKidMs: 30_000 };

/** After a failure, the source is left alone for this long: with keys at hand, and without. */
const RETRY_MS = 30_000;
const RETRY_WITHOUT_KEYS_MS = 1_000;

/**
 * The keys of one issuer, read when they are first needed. Concurrent readings are one; a key that is not there
 * makes for another reading, though rarely; when the source cannot be reached, the keys at hand go on being used.
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
   * The key that a token names. Errors: 401 `unknown_key` when there is none, or when the token names none and
   * several keys stand; 503 `auth_unavailable` when the source cannot be reached and no key is at hand.
   *
   * @param algorithm chooses between keys of the same `kid`; a key that does not fit it is answered all the same.
   */
  async find(kid: string | undefined, algorithm: Algorithm): Promise<VerificationKey> {
    await this.ensureRead();
    let found = this.matching(kid, algorithm);
    const reading = this.reads.pending(this.issuer);
    if (!found && kid !== undefined && this.mayAskForKid()) {
      this.unknownKidAt = this.now();
      await this.read();
      found = this.matching(kid, algorithm);
    } else if (!found && reading) {
      await reading;
      found = this.matching(kid, algorithm);
    }
    if (found) return found;
    throw problem.unauthenticated(
      'unknown_key',
      kid === undefined
        ? 'The token has no kid, and its issuer does not publish exactly one key.'
        : 'The kid of the token is not among the keys that its issuer publishes.',
    );
  }

  private matching(kid: string | undefined, algorithm: Algorithm): VerificationKey | undefined {
    const keys = this.keys ?? [];
    if (kid === undefined) return keys.length === 1 ? keys[0] : undefined;
    const named = keys.filter((key) => key.kid === kid);
    return named.find((key) => key.fits(algorithm)) ?? named[0];
  }

  private mayAskForKid(): boolean {
    return this.now() - this.unknownKidAt >= this.rules.unknownKidMs;
  }

  private async ensureRead(): Promise<void> {
    const now = this.now();
    if (this.keys && now - this.readAt < this.rules.freshMs) return;
    const wait = this.keys ? RETRY_MS : RETRY_WITHOUT_KEYS_MS;
    const failing = this.failedAt > this.readAt;
    if (!failing || now - this.failedAt >= wait) {
      const reading = this.read();
      // while the source is failing, nobody waits for it who has keys to go on with
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

  /** Reads the source, or joins a read in flight. Never rejects: a failed read keeps the keys at hand. */
  private read(): Promise<void> {
    return this.reads.run(this.issuer, undefined, () => this.readOnce());
  }

  private async readOnce(): Promise<void> {
    try {
      const keys = await VerificationKey.ofSet(await this.source());
      if (!keys) throw new Error('the answer is not a JWK set');
      this.keys = keys;
      this.readAt = this.now();
    } catch (error) {
      this.failedAt = this.now();
      rootLogger.warn({ err: error, issuer: this.issuer }, 'the keys of a token issuer cannot be read');
    }
  }
}
