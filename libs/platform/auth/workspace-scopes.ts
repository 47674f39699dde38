import { Injectable } from '@nestjs/common';
import type { IncomingHttpHeaders } from 'node:http';
import { problem } from '#platform/problem';
import { type Principal, rolesIn, type Scope, workspaceScope } from '#platform/scope';
import { WORKSPACE_HEADER } from './access.decorator';
import { AccountCache } from './account-cache';
import { AccountDirectory, type WorkspaceState } from './account-directory';

/** A principal of an organization. */
export type Member = Principal & { orgId: string };

/** A workspace that a principal has entered. */
export interface EnteredWorkspace extends WorkspaceState {
  readonly scope: Scope;
}

/** Turns principals and ids of workspaces into the scopes that services take. */
@Injectable()
export class WorkspaceScopes {
  constructor(
    private readonly directory: AccountDirectory,
    private readonly cache: AccountCache,
  ) {}

  /** Returns the state of a workspace of an organization, at once if it is cached; null if there is no such workspace. */
  find(orgId: string, workspaceId: string): WorkspaceState | Promise<WorkspaceState | null> {
    return this.cache.findWorkspace(orgId, workspaceId, () =>
      this.directory.findWorkspace(orgId, workspaceId),
    );
  }

  /** Returns the scope of a principal within a workspace; null if it does not exist or the principal has no role in it. */
  async enter(
    principal: Member,
    workspaceId: string,
    requestId: string | null,
  ): Promise<EnteredWorkspace | null> {
    const scope = scopeWithin(principal, workspaceId, requestId);
    const workspace = scope && (await this.find(principal.orgId, workspaceId));
    return scope && workspace ? { ...workspace, scope } : null;
  }
}

/** Returns the scope of a principal within an existing workspace; null if the principal has no role in it. */
export function scopeWithin(principal: Member, workspaceId: string, requestId: string | null): Scope | null {
  const roles = rolesIn(principal, workspaceId);
  if (roles.size === 0) return null;
  return workspaceScope(principal.orgId, workspaceId, principal.id, roles, requestId, principal.allow);
}

/** Returns the workspace that the header of a request names, if any. Errors: 400 for several workspaces. */
export function workspaceInHeader(headers: IncomingHttpHeaders): string | undefined {
  const workspaceId = headers[WORKSPACE_HEADER.toLowerCase()];
  if (typeof workspaceId !== 'string' || workspaceId === '') return undefined;
  // Node joins a header that is sent more than once
  if (workspaceId.includes(','))
    throw problem.invalidHeader(WORKSPACE_HEADER, 'must name exactly one workspace');
  return workspaceId;
}
