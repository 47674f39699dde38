export { type AccessRule, isRead } from './access-rule';
export { type Allow, type Area, AREAS, toolKey } from './allow';
export {
  type Credential,
  type Principal,
  type PrincipalType,
  rolesEverywhere,
  rolesIn,
  workspacesWith,
} from './principal';
export { expandRoles, isRole, NO_ROLES, reduceRoles, type Role, ROLES } from './roles';
export { type OrgScope, orgScope, type Scope, scopeOf, type TenantKey, workspaceScope } from './scope';
