import type { Where } from '#platform/db';

/** A pattern of LIKE for texts that contain this one. */
export const containing = (text: string): string => `%${text.replace(/[\\%_]/g, '\\$&')}%`;

/**
 * Whether a text occurs in a column of JSON: in one of its texts, of which JSON writes quotes and line breaks in its own
 * way, or in the JSON as it is kept.
 */
export function mentionsInJson(where: Where, column: string, text: string): string {
  const inText = JSON.stringify(text).slice(1, -1);
  const patterns = [...new Set([inText, text])].map((one) => where.parameter(containing(one)));
  return `(${patterns.map((pattern) => `${column}::text ILIKE ${pattern}`).join(' OR ')})`;
}
