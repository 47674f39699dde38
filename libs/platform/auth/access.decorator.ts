import { applyDecorators, SetMetadata } from '@nestjs/common';
import { ApiBearerAuth, ApiHeader } from '@nestjs/swagger';
import type { Role } from './roles';

/** Who may call a route. Every route declares one, itself or by its controller; a test proves it. */
export type AccessRule =
  { kind: 'public' } | { kind: 'platform' } | { kind: 'member' } | { kind: 'roles'; anyOf: readonly Role[] };

export const ACCESS_RULE = 'access:rule';
export const WORKSPACE_REQUIRED = 'access:workspace';

/** The header that names the workspace of a request. */
export const WORKSPACE_HEADER = 'X-Service-Workspace-Id';

const rule = (value: AccessRule) => SetMetadata(ACCESS_RULE, value);

/** No token needed. Only for the few routes that the contract names. */
export const Public = () => rule({ kind: 'public' });

/** For platform principals alone, who in turn are refused everywhere else. */
export const PlatformOnly = () => applyDecorators(rule({ kind: 'platform' }), ApiBearerAuth());

/** For everyone who is authenticated in an organization, whatever the roles. */
export const AnyMember = () => applyDecorators(rule({ kind: 'member' }), ApiBearerAuth());

/**
 * For those who hold one of these roles (or one that contains it): in the workspace of the request where there is
 * one, else in the organization.
 */
export const RequireRole = (...anyOf: [Role, ...Role[]]) =>
  applyDecorators(rule({ kind: 'roles', anyOf }), ApiBearerAuth());

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
