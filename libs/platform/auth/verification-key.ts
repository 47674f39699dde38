import { type CryptoKey, importJWK, type JWK } from 'jose';
import { type Algorithm, algorithmOf, keyFits } from './algorithms';

const MIN_RSA_BITS = 2048;
/** Maximum number of keys of one issuer. A larger set is invalid. */
const MAX_KEYS = 100;

/** Tells whether a key has `org_id`, which marks the keys of organizations in this service's own set. */
const isOfOrganization = (jwk: unknown): boolean =>
  typeof jwk === 'object' && jwk !== null && 'org_id' in jwk;

/** A public key of an issuer. It is imported once per algorithm, not once per token. */
export class VerificationKey {
  private readonly imported = new Map<Algorithm, Promise<CryptoKey>>();

  private constructor(
    readonly kid: string | undefined,
    private readonly jwk: JWK,
  ) {}

  /**
   * Returns the usable keys of a JWK set (RFC 7517), or null if `set` is not a JWK set. Ignores other keys, as section 5
   * requires: symmetric and private keys, keys for encryption, RSA keys under 2,048 bits, unknown or invalid keys, and the
   * keys with which organizations of a service like this one sign.
   */
  static async readSet(set: unknown): Promise<VerificationKey[] | null> {
    const keys = typeof set === 'object' && set !== null ? (set as { keys?: unknown }).keys : undefined;
    if (!Array.isArray(keys)) return null;
    const tokenKeys = keys.filter((jwk: unknown) => !isOfOrganization(jwk));
    if (tokenKeys.length > MAX_KEYS) return null;
    const imported = await Promise.all(tokenKeys.map((jwk: unknown) => VerificationKey.of(jwk)));
    return imported.filter((key) => key !== null);
  }

  private static async of(jwk: unknown): Promise<VerificationKey | null> {
    if (typeof jwk !== 'object' || jwk === null) return null;
    const { kty, crv, x, y, n, e, kid, alg, use, key_ops, d, k } = jwk as JWK;
    if (d !== undefined || k !== undefined) return null;
    if (kid !== undefined && typeof kid !== 'string') return null;
    if (use !== undefined && use !== 'sig') return null;
    if (Array.isArray(key_ops) && !key_ops.includes('verify')) return null;
    const key = new VerificationKey(kid, { kty, crv, x, y, n, e, alg });
    const algorithm = algorithmOf(key.jwk);
    if (!algorithm) return null;
    try {
      const { algorithm: parameters } = await key.importFor(algorithm);
      const bits = (parameters as { modulusLength?: number }).modulusLength;
      return bits !== undefined && bits < MIN_RSA_BITS ? null : key;
    } catch {
      return null;
    }
  }

  fits(algorithm: Algorithm): boolean {
    return keyFits(this.jwk, algorithm);
  }

  /** Returns the imported key for an algorithm that it fits. */
  importFor(algorithm: Algorithm): Promise<CryptoKey> {
    let key = this.imported.get(algorithm);
    if (!key) {
      const { kty, crv, x, y, n, e } = this.jwk;
      key = importJWK({ kty, crv, x, y, n, e }, algorithm) as Promise<CryptoKey>;
      this.imported.set(algorithm, key);
    }
    return key;
  }
}
