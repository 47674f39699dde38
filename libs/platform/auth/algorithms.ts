import type { JWK } from 'jose';

/** The signature algorithms that tokens may have (RFC 7518, RFC 8037): asymmetric ones only, ever. */
export const ALGORITHMS = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
] as const;

export type Algorithm = (typeof ALGORITHMS)[number];

export const isAlgorithm = (value: unknown): value is Algorithm =>
  (ALGORITHMS as readonly unknown[]).includes(value);

/** The curve that each algorithm takes; those not named here are RSA. */
const CURVES: Partial<Record<Algorithm, string>> = {
  ES256: 'P-256',
  ES384: 'P-384',
  ES512: 'P-521',
  EdDSA: 'Ed25519',
};

/** Whether a key can have made a signature of this algorithm, by its type, its curve and its own `alg`. */
export function keyFits({ kty, crv, alg }: JWK, algorithm: Algorithm): boolean {
  // the fully specified name of RFC 9864
  const own = alg === 'Ed25519' ? 'EdDSA' : alg;
  if (own !== undefined && own !== algorithm) return false;
  const curve = CURVES[algorithm];
  if (curve === undefined) return kty === 'RSA';
  return kty === (algorithm === 'EdDSA' ? 'OKP' : 'EC') && crv === curve;
}

/** An algorithm that a key of this kind takes, to try the key with; null for a kind that signs nothing here. */
export const algorithmOf = (jwk: JWK): Algorithm | null =>
  ALGORITHMS.find((algorithm) => keyFits(jwk, algorithm)) ?? null;
