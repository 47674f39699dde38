import { problem } from '#platform/problem';
import type { Allow, Area } from '#platform/scope';

/** Returns whether the caller's key can read everything that its roles allow. */
export const mayRead = ({ allow }: { readonly allow: Allow | null }): boolean =>
  allow === null || allow.areas.includes('read');

/** Throws 403 `forbidden` unless the caller's key allows one of these areas. */
export function checkArea(allow: Allow | null, areas: readonly Area[]): void {
  if (!allow || areas.some((area) => allow.areas.includes(area))) return;
  const missing =
    areas.length === 0
      ? 'this operation, which needs a key without `allow`'
      : `the area ${areas.map((area) => `\`${area}\``).join(' or ')}`;
  throw problem.forbidden(`This key does not allow ${missing}. It allows: ${allow.areas.join(', ')}.`);
}

/**
 * Throws 403 `forbidden` unless the caller's key allows a resource.
 *
 * @param id as in `Allow`
 * @param name of the resource, for the problem detail
 */
export function checkAllowed(
  allow: Allow | null,
  list: 'models' | 'apis' | 'tools',
  id: string,
  name: string,
): void {
  const allowed = allow?.[list] ?? null;
  if (allowed === null || allowed.includes(id)) return;
  throw problem.forbidden(
    `This key does not allow the ${NOUNS[list]} \`${name}\`. GET /registry/v1/me shows what it allows.`,
  );
}

const NOUNS = { models: 'model', apis: 'API', tools: 'tool' };
