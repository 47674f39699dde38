export {
  ACCESS_EXTENSION,
  ACCESS_RULE,
  type AccessRule,
  AnyMember,
  AnyPrincipal,
  PlatformOnly,
  Public,
  RequireRole,
  RequireRoleEverywhere,
  RequireRoleSomewhere,
  RequireWorkspace,
  WORKSPACE_HEADER,
  WORKSPACE_REQUIRED,
} from './access.decorator';
export { AccountChanges } from './account-changes';
export {
  type Account,
  AccountDirectory,
  type AccountStatus,
  EVERY_WORKSPACE,
  type KeyHolder,
  type TokenSubject,
  type WorkspaceState,
} from './account-directory';
export { AccountChangesModule, AuthModule } from './auth.module';
export { API_KEY_PREFIX, Authenticator } from './authenticator';
export { bearerToken } from './bearer-token';
export { CurrentPrincipal, CurrentRequestId, CurrentScope } from './current.decorator';
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
export type { VerifiedToken } from './token-verifier';
export { checkIssuers, ownIssuer } from './trusted-issuers';
