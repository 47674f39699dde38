import type { JWK } from 'jose';

/** Supported signature algorithms of tokens (RFC 7518, RFC 8037). Only asymmetric ones may be added. */
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

/** The curve of each algorithm. Algorithms without an entry are RSA. */
const CURVES: Partial<Record<Algorithm, string>> = {
  ES256: 'P-256',
  ES384: 'P-384',
  ES512: 'P-521',
  EdDSA: 'Ed25519',
};

/** Tells whether a key can sign with this algorithm, by its type, its curve and its own `alg`. */
export function keyFits({ kty, crv, alg }: JWK, algorithm: Algorithm): boolean {
  // RFC 9864 names EdDSA with this curve `Ed25519`
  const own = alg === 'Ed25519' ? 'EdDSA' : alg;
  if (own !== undefined && own !== algorithm) return false;
  const curve = CURVES[algorithm];
  if (curve === undefined) return kty === 'RSA';
  return kty === (algorithm === 'EdDSA' ? 'OKP' : 'EC') && crv === curve;
}

/** Returns an algorithm that the key supports; null for an unsupported kind of key. */
export const algorithmOf = (jwk: JWK): Algorithm | null =>
  ALGORITHMS.find((algorithm) => keyFits(jwk, algorithm)) ?? null;
