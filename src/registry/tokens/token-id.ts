import { randomBytes } from 'node:crypto';

/**
 * The `jti` of a token that this service issues: the id of the key it was exchanged for, and randomness. So a revoked
 * key takes its tokens with it, without a list of them.
 */
export const newTokenId = (keyId: string): string => `${keyId}.${randomBytes(12).toString('base64url')}`;

/** The key's id in the `jti` of one of this service's own tokens. */
export const keyIdOf = (jti: string): string | null => /^(key_[0-9a-z]{26})\./.exec(jti)?.[1] ?? null;
