import { createHash } from 'node:crypto';

/** Returns the SQL of the SHA-256 of a text in hexadecimal, which a reconcile reads instead of a large column. */
export const sha256Of = (text: string): string => `encode(sha256(convert_to(${text}, 'UTF8')), 'hex')`;

/** Returns a digest as PostgreSQL computes it. */
export const sha256OrNull = (text: string | null): string | null =>
  text === null ? null : createHash('sha256').update(text).digest('hex');
