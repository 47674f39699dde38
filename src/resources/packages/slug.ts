/** Maximum length in characters, all of which are ASCII. */
const SLUG_MAX = 64;

/** The slug of a name without ASCII letters and digits. */
const NAMELESS = 'item';

/** Names of Windows devices. A directory cannot have them. */
const DEVICE = /^(?:con|prn|aux|nul|com[0-9]|lpt[0-9])$/;

/**
 * Returns a name for a directory in a package: 1 to 64 lower-case ASCII letters, digits and hyphens. The same name always
 * has the same slug, and different names may share one. Accents are dropped: `Prüfung Nr. 1` becomes `prufung-nr-1`.
 */
export function slugOf(name: string): string {
  const words = name
    .normalize('NFKD')
    .toLowerCase()
    .replace(/\p{M}/gu, '')
    .match(/[a-z0-9]+/g);
  const slug = (words ?? [NAMELESS]).join('-').slice(0, SLUG_MAX).replace(/-$/, '');
  return DEVICE.test(slug) ? `${slug}-${NAMELESS}` : slug;
}
