/** Roles, held in an organization or in one workspace. */
export const ROLES = [
  'viewer',
  'annotator',
  'editor',
  'evaluator',
  'publisher',
  'runtime',
  'admin',
  'owner',
] as const;

export type Role = (typeof ROLES)[number];

export const isRole = (value: unknown): value is Role => (ROLES as readonly unknown[]).includes(value);

/** The roles that each role contains. */
const CONTAINS: Record<Role, readonly Role[]> = {
  viewer: [],
  annotator: ['viewer'],
  editor: ['viewer'],
  evaluator: ['viewer', 'annotator', 'editor'],
  publisher: ['viewer', 'editor'],
  runtime: [],
  admin: ['viewer', 'annotator', 'editor', 'evaluator', 'publisher', 'runtime'],
  owner: ['viewer', 'annotator', 'editor', 'evaluator', 'publisher', 'runtime', 'admin'],
};

export const NO_ROLES: ReadonlySet<Role> = new Set();

/** Returns these roles with all the roles that they contain. */
export function expandRoles(roles: Iterable<Role>): ReadonlySet<Role> {
  const all = new Set<Role>();
  for (const role of roles) {
    all.add(role);
    for (const contained of CONTAINS[role]) all.add(contained);
  }
  return all;
}

/** Returns the fewest roles that expand to the same set, in the order of `ROLES`. Stored and returned in this form. */
export function reduceRoles(roles: Iterable<Role>): Role[] {
  const all = new Set(roles);
  return ROLES.filter(
    (role) => all.has(role) && ![...all].some((other) => other !== role && CONTAINS[other].includes(role)),
  );
}
