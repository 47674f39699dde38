import type { Role } from './roles';

/** Who may call a route. A test checks that every route or its controller declares one rule. */
export type AccessRule =
  | { kind: 'public' }
  | { kind: 'platform' }
  | { kind: 'principal' }
  | { kind: 'roles'; anyOf: readonly Role[] }
  | { kind: 'roles_everywhere'; anyOf: readonly Role[] }
  | { kind: 'roles_somewhere'; anyOf: readonly Role[]; isOfOrganization?: boolean };

/** Returns whether a route only reads, whatever its method. Operations that viewers may call change nothing. */
export const isRead = (rule: AccessRule | undefined): boolean =>
  rule !== undefined && 'anyOf' in rule && rule.anyOf.includes('viewer');
