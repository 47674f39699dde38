import { createHmac, createPrivateKey, sign } from 'node:crypto';
import { exportJWK } from 'jose';
import type { TestIssuer } from '#testing';

export interface RawToken {
  header: Record<string, unknown>;
  claims: Record<string, unknown>;
}

export const base64url = (value: unknown): string =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url');

/** Signs any header and payload (strings are used as they are) with the ES256 key of an issuer. */
export async function signRaw(issuer: TestIssuer, header: unknown, claims: unknown): Promise<string> {
  const input = `${base64url(header)}.${base64url(claims)}`;
  const key = createPrivateKey({ key: await exportJWK(issuer.privateKey), format: 'jwk' });
  const signature = sign('sha256', Buffer.from(input), { key, dsaEncoding: 'ieee-p1363' });
  return `${input}.${signature.toString('base64url')}`;
}

/** Signs with HMAC and the issuer's public key, which is an attack on services that trust the token's `alg`. */
export function signHmac(header: unknown, claims: unknown, secret: string): string {
  const input = `${base64url(header)}.${base64url(claims)}`;
  return `${input}.${createHmac('sha256', secret).update(input).digest('base64url')}`;
}
