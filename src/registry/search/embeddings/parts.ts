/** Dimensions that a `cube` of PostgreSQL can have. */
export const PART = 100;

/** Digits after the point that are kept: as many as single precision has. */
const SCALE = 1e7;

/**
 * The vector of the same direction and of length 1, of which the distances of others tell the cosine: half their square is
 * 1 - cosine. Null for one without a direction.
 */
export function normalized(vector: ArrayLike<number>): Float64Array | null {
  const made = Float64Array.from(vector);
  // by its largest first, so that squares neither overflow nor vanish
  const largest = made.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  if (!(largest > 0) || !Number.isFinite(largest)) return null;
  const length = Math.sqrt(made.reduce((sum, value) => sum + (value / largest) ** 2, 0));
  return made.map((value) => Math.round((value / largest / length) * SCALE) / SCALE);
}

/** A vector as PostgreSQL reads a `cube[]`. */
export function partsLiteral(vector: Float64Array): string {
  const parts: string[] = [];
  for (let at = 0; at < vector.length; at += PART) {
    parts.push(`"(${vector.subarray(at, at + PART).join(',')})"`);
  }
  return `{${parts.join(',')}}`;
}
