const SCHEME = 'skill://';

/** A file or a directory of a skill. */
export interface SkillLocation {
  skillId: string;
  name: string;
  /** Empty for the directory of the skill itself. */
  path: string;
}

/**
 * Returns the URI of a file or a directory of a skill: `skill://<skill_id>/<name>/<path>`, in the form of SEP-2640. The
 * id comes first, because skills of several workspaces may have the same name.
 */
export const skillUri = ({ skillId, name, path }: SkillLocation): string =>
  SCHEME + [skillId, name, ...(path === '' ? [] : path.split('/'))].map(encodeURIComponent).join('/');

/** Parses the URI of a file or a directory of a skill. Returns null for any other text. */
export function parseSkillUri(uri: string): SkillLocation | null {
  if (!uri.startsWith(SCHEME)) return null;
  const segments = decoded(uri.slice(SCHEME.length).replace(/\/$/, ''));
  const [skillId = '', name = '', ...path] = segments ?? [];
  return skillId === '' || name === '' ? null : { skillId, name, path: path.join('/') };
}

function decoded(text: string): string[] | null {
  try {
    return text.split('/').map(decodeURIComponent);
  } catch {
    return null;
  }
}
