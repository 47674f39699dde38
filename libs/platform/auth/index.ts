export {
  ACCESS_RULE,
  type AccessRule,
  AnyMember,
  PlatformOnly,
  Public,
  RequireRole,
  RequireWorkspace,
  WORKSPACE_HEADER,
  WORKSPACE_REQUIRED,
} from './access.decorator';
export {
  type Account,
  AccountDirectory,
  type AccountStatus,
  type KeyHolder,
  type TokenSubject,
} from './account-directory';
export { CurrentPrincipal, CurrentScope } from './current.decorator';
export {
  type OrgScope,
  orgScope,
  type Principal,
  type PrincipalType,
  rolesIn,
  type Scope,
  type TenantKey,
  workspaceScope,
} from './principal';
export { RoleGuard } from './role.guard';
export { expandRoles, isRole, type Role, ROLES } from './roles';
export { WorkspaceGuard } from './workspace.guard';
