/** Roles, held in an organization or in one workspace. */
export const ROLES = ['viewer', 'editor', 'evaluator', 'publisher', 'runtime', 'admin', 'owner'] as const;

export type Role = (typeof ROLES)[number];

export const isRole = (value: unknown): value is Role => (ROLES as readonly unknown[]).includes(value);

/** What each role may do besides its own: the roles it contains. */
const CONTAINS: Record<Role, readonly Role[]> = {
  viewer: [],
  editor: ['viewer'],
  evaluator: ['viewer', 'editor'],
  publisher: ['viewer', 'editor'],
  runtime: [],
  admin: ['viewer', 'editor', 'evaluator', 'publisher', 'runtime'],
  owner: ['viewer', 'editor', 'evaluator', 'publisher', 'runtime', 'admin'],
};

export const NO_ROLES: ReadonlySet<Role> = new Set();

/** Every role that these roles amount to. */
export function expandRoles(roles: Iterable<Role>): ReadonlySet<Role> {
  const all = new Set<Role>();
  for (const role of roles) {
    all.add(role);
    for (const contained of CONTAINS[role]) all.add(contained);
  }
  return all;
}

/** The fewest roles that amount to the same, in the order of `ROLES`: how roles are stored and answered. */
export function reduceRoles(roles: Iterable<Role>): Role[] {
  const all = new Set(roles);
  return ROLES.filter(
    (role) => all.has(role) && ![...all].some((other) => other !== role && CONTAINS[other].includes(role)),
  );
}
