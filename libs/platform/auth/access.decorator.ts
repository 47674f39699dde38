import { applyDecorators, createParamDecorator, type ExecutionContext, SetMetadata } from '@nestjs/common';
import { ApiBearerAuth, ApiExtension, ApiHeader } from '@nestjs/swagger';
import type { ServiceRequest } from '#platform/http';
import type { AccessRule, Area, Principal, Role, Scope } from '#platform/scope';

export const ACCESS_RULE = 'access:rule';
export const WORKSPACE_REQUIRED = 'access:workspace';
export const ALLOWED_BY = 'access:areas';

/** The header that names the workspace of a request. */
export const WORKSPACE_HEADER = 'X-Service-Workspace-Id';

const rule = (value: AccessRule) => SetMetadata(ACCESS_RULE, value);

/** Extension that carries a route's rule to the code that completes its description. The document does not show it. */
export const ACCESS_EXTENSION = 'x-access-rule';

const behindBearer = (value: AccessRule) =>
  applyDecorators(rule(value), ApiBearerAuth(), ApiExtension(ACCESS_EXTENSION, value));

/** Requires no token. Only for the few routes that the contract names. */
export const Public = () => rule({ kind: 'public' });

/** Requires a platform principal. Other routes refuse them, except those with `AnyPrincipal`. */
export const PlatformOnly = () => behindBearer({ kind: 'platform' });

/** Requires any authenticated caller, platform principals included. For routes that describe the caller. */
export const AnyPrincipal = () => behindBearer({ kind: 'principal' });

/**
 * Requires one of these roles (or one that contains it): in the workspace of the request if the route requires one,
 * else in the organization. A role held only in some workspaces does not grant access to an organization's route, with
 * or without the header.
 */
export const RequireRole = (...anyOf: [Role, ...Role[]]) => behindBearer({ kind: 'roles', anyOf });

/** Like `RequireRole`, and refuses callers that are limited to some workspaces. For routes that affect all of them. */
export const RequireRoleEverywhere = (...anyOf: [Role, ...Role[]]) =>
  behindBearer({ kind: 'roles_everywhere', anyOf });

/**
 * Requires one of these roles in the organization or in any of its workspaces. For routes outside evaluation whose
 * resources belong to workspaces. The admission does not know the workspace yet, so **the service behind such a route must
 * check the roles there**: `scope.rolesIn`, `scope.workspacesWith` or `WorkspaceAccess`.
 */
export const RequireRoleSomewhere = (...anyOf: [Role, ...Role[]]) =>
  behindBearer({ kind: 'roles_somewhere', anyOf });

/**
 * Like `RequireRoleSomewhere`, for routes whose resources belong to no workspace, or to all workspaces of the organization. A
 * role in any workspace is enough.
 */
export const RequireRoleInAnyWorkspace = (...anyOf: [Role, ...Role[]]) =>
  behindBearer({ kind: 'roles_somewhere', anyOf, isOfOrganization: true });

/**
 * Opens a route to keys that are limited to one of these areas. Without it, the area `read` opens routes that only read, and
 * all other routes are closed to such keys.
 */
export const AllowedBy = (...areas: [Area, ...Area[]]) => SetMetadata(ALLOWED_BY, areas);

/** On a controller: all its routes require the workspace header and act within that workspace. */
export const RequireWorkspace = () =>
  applyDecorators(
    SetMetadata(WORKSPACE_REQUIRED, true),
    ApiHeader({
      name: WORKSPACE_HEADER,
      required: true,
      description: 'The workspace that the request applies to.',
      schema: { type: 'string' },
    }),
  );

/** Injects the scope of the request: its organization, and its workspace if the route requires one. */
export const CurrentScope = createParamDecorator((_: unknown, context: ExecutionContext): Scope => {
  return context.switchToHttp().getRequest<ServiceRequest>().scope as Scope;
});

/** Injects the verified caller. */
export const CurrentPrincipal = createParamDecorator((_: unknown, context: ExecutionContext): Principal => {
  return context.switchToHttp().getRequest<ServiceRequest>().user as Principal;
});

/** Injects the `X-Request-Id` of the request. */
export const CurrentRequestId = createParamDecorator(
  (_: unknown, context: ExecutionContext): string =>
    context.switchToHttp().getRequest<ServiceRequest>().context.requestId,
);
