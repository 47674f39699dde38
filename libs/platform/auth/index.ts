export {
  ACCESS_EXTENSION,
  ACCESS_RULE,
  AllowedBy,
  AnyPrincipal,
  CurrentPrincipal,
  CurrentRequestId,
  CurrentScope,
  PlatformOnly,
  Public,
  RequireRole,
  RequireRoleEverywhere,
  RequireRoleInAnyWorkspace,
  RequireRoleSomewhere,
  RequireWorkspace,
  WORKSPACE_HEADER,
  WORKSPACE_REQUIRED,
} from './access.decorator';
export { AccountCache } from './account-cache';
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
export { type Access, Admission, PUBLIC } from './admission';
export { checkAllowed, checkArea, mayRead } from './allowed';
export { AccountChangesModule, AuthModule } from './auth.module';
export { API_KEY_PREFIX, Authenticator } from './authenticator';
export {
  type AccessRule,
  type Allow,
  type Area,
  AREAS,
  type Credential,
  expandRoles,
  isRead,
  isRole,
  NO_ROLES,
  type OrgScope,
  orgScope,
  type Principal,
  type PrincipalType,
  reduceRoles,
  type Role,
  ROLES,
  rolesEverywhere,
  rolesIn,
  type Scope,
  scopeOf,
  type TenantKey,
  toolKey,
  workspaceScope,
  workspacesWith,
} from '#platform/scope';
export { NAME_PREFIX, PathNames } from './path-names';
export type { VerifiedToken } from './token-verifier';
export { checkIssuers, ownIssuer, TrustedIssuers } from './trusted-issuers';
export { type EnteredWorkspace, type Member, workspaceInHeader, WorkspaceScopes } from './workspace-scopes';
