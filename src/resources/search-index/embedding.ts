import { createHash } from 'node:crypto';
import type { Environment } from '#platform/config';

/** The identity of the built-in embedder. Change it whenever its vectors change, so that documents are embedded again. */
export const BUILTIN_IDENTITY = 'builtin_2';

/** The variables that select the embedder. */
export type EmbeddingsConfig = Pick<
  Environment,
  'EMBEDDINGS_BASE_URL' | 'EMBEDDINGS_MODEL' | 'EMBEDDINGS_DIMENSIONS'
>;

/**
 * Returns the identity of the embedder that a process is configured with. Only vectors of the same identity can be compared.
 * The identity has at most 23 letters, digits and underscores, because names of indexes contain it.
 */
export function embeddingIdentity(config: EmbeddingsConfig): string {
  const { EMBEDDINGS_BASE_URL, EMBEDDINGS_MODEL, EMBEDDINGS_DIMENSIONS } = config;
  // without a URL, the model may be a gateway model
  if (EMBEDDINGS_BASE_URL === undefined && !EMBEDDINGS_MODEL?.startsWith('gateway:')) return BUILTIN_IDENTITY;
  const backend = JSON.stringify([EMBEDDINGS_BASE_URL, EMBEDDINGS_MODEL, EMBEDDINGS_DIMENSIONS]);
  return `remote_${createHash('sha256').update(backend).digest('hex').slice(0, 16)}`;
}

/** Maximum number of dimensions of a PostgreSQL `cube`. */
export const PART = 100;

/** Rounds to as many decimal digits as single precision has. */
const SCALE = 1e7;

/**
 * Returns the unit vector of the same direction, or null for a vector without a direction. The cosine of unit vectors is one
 * minus half their squared distance.
 */
export function normalized(vector: ArrayLike<number>): Float64Array | null {
  const values = Float64Array.from(vector);
  // Divides by the largest first, so that squares neither overflow nor vanish.
  const largest = values.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  if (!(largest > 0) || !Number.isFinite(largest)) return null;
  const length = Math.sqrt(values.reduce((sum, value) => sum + (value / largest) ** 2, 0));
  return values.map((value) => Math.round((value / largest / length) * SCALE) / SCALE);
}

/** Returns a vector as a PostgreSQL literal of `cube[]`. */
export function partsLiteral(vector: Float64Array): string {
  const parts: string[] = [];
  for (let at = 0; at < vector.length; at += PART) {
    parts.push(`"(${vector.subarray(at, at + PART).join(',')})"`);
  }
  return `{${parts.join(',')}}`;
}
