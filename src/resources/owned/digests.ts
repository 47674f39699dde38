import { createHash } from 'node:crypto';

/** Returns SQL for the SHA-256 of a text in hexadecimal. A reconcile reads it instead of a large column. */
export const sha256Of = (text: string): string => `encode(sha256(convert_to(${text}, 'UTF8')), 'hex')`;

/** Returns the same digest as PostgreSQL. */
export const sha256OrNull = (text: string | null): string | null =>
  text === null ? null : createHash('sha256').update(text).digest('hex');
