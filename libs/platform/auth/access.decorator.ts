import { applyDecorators, type ExecutionContext, SetMetadata } from '@nestjs/common';
import type { Reflector } from '@nestjs/core';
import { ApiBearerAuth, ApiExtension, ApiHeader } from '@nestjs/swagger';
import type { Role } from '#platform/scope';

/** Who may call a route. Every route declares one, itself or by its controller; a test proves it. */
export type AccessRule =
  | { kind: 'public' }
  | { kind: 'platform' }
  | { kind: 'principal' }
  | { kind: 'roles'; anyOf: readonly Role[] }
  | { kind: 'roles_everywhere'; anyOf: readonly Role[] }
  | { kind: 'roles_somewhere'; anyOf: readonly Role[] };

export const ACCESS_RULE = 'access:rule';
export const WORKSPACE_REQUIRED = 'access:workspace';

/** The header that names the workspace of a request. */
export const WORKSPACE_HEADER = 'X-Service-Workspace-Id';

const rule = (value: AccessRule) => SetMetadata(ACCESS_RULE, value);

/** Where the rule of a route is found by what completes its description; it is in no document. */
export const ACCESS_EXTENSION = 'x-access-rule';

const behindBearer = (value: AccessRule) =>
  applyDecorators(rule(value), ApiBearerAuth(), ApiExtension(ACCESS_EXTENSION, value));

/** No token needed. Only for the few routes that the contract names. */
export const Public = () => rule({ kind: 'public' });

/** For platform principals alone, who in turn are refused everywhere else. */
export const PlatformOnly = () => behindBearer({ kind: 'platform' });

/** For everyone who is authenticated, platform principals too: what tells callers about themselves. */
export const AnyPrincipal = () => behindBearer({ kind: 'principal' });

/**
 * For those who hold one of these roles (or one that contains it): in the workspace of the request where the route
 * requires one, else in the organization. A role held in single workspaces only does not open an organization's
 * route, whatever the header says.
 */
export const RequireRole = (...anyOf: [Role, ...Role[]]) => behindBearer({ kind: 'roles', anyOf });

/** The same, but for those who are bound to some workspaces: for what concerns all of the organization. */
export const RequireRoleEverywhere = (...anyOf: [Role, ...Role[]]) =>
  behindBearer({ kind: 'roles_everywhere', anyOf });

/**
 * For those who hold one of these roles in the organization or in any one of its workspaces: routes outside
 * evaluation whose resources lie in workspaces. Which workspace is acted upon shows only later, so **the service
 * behind such a route must hold it to the roles there**: `scope.rolesIn`, `scope.workspacesWith`, or the registry's
 * `WorkspaceAccess`.
 */
export const RequireRoleSomewhere = (...anyOf: [Role, ...Role[]]) =>
  behindBearer({ kind: 'roles_somewhere', anyOf });

/** On a controller: each of its routes needs the workspace header, and acts within that workspace. */
export const RequireWorkspace = () =>
  applyDecorators(
    SetMetadata(WORKSPACE_REQUIRED, true),
    ApiHeader({
      name: WORKSPACE_HEADER,
      required: true,
      description: 'The workspace within which the request acts.',
      schema: { type: 'string' },
    }),
  );

/** The rule of a route: its own, else its controller's. */
export const accessRuleOf = (reflector: Reflector, context: ExecutionContext): AccessRule | undefined =>
  reflector.getAllAndOverride<AccessRule | undefined>(ACCESS_RULE, [
    context.getHandler(),
    context.getClass(),
  ]);

export const requiresWorkspace = (reflector: Reflector, context: ExecutionContext): boolean =>
  reflector.getAllAndOverride<boolean | undefined>(WORKSPACE_REQUIRED, [
    context.getHandler(),
    context.getClass(),
  ]) === true;
