import { randomBytes } from 'node:crypto';

/**
 * Returns the `jti` of a new token: the id of its API key, and random characters. Revoking the key therefore revokes its tokens,
 * without a list of them.
 */
export const newTokenId = (keyId: string): string => `${keyId}.${randomBytes(12).toString('base64url')}`;

/** Returns the id of the API key in the `jti` of a token that this service issued, or null. */
export const keyIdOf = (jti: string): string | null => /^(key_[0-9a-z]{26})\./.exec(jti)?.[1] ?? null;
