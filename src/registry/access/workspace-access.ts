import { Injectable } from '@nestjs/common';
import { type OrgScope, type Role, type Scope, WORKSPACE_HEADER, workspaceScope } from '#platform/auth';
import { type Tx, Where } from '#platform/db';
import { type Problem, problem } from '#platform/problem';
import { WorkspaceAccessRepository } from './workspace-access.repository';

/** A resource that lies in a workspace. */
interface Placed {
  workspace_id: string;
  archived_at: Date | null;
}

/** Any one of these roles. */
export type AnyOf = readonly [Role, ...Role[]];

/** What reads, unless an area has other readers. */
const READERS: AnyOf = ['viewer'];

/**
 * Holds what is done to resources of workspaces to the roles that the caller has there: their routes need no workspace
 * header, and their guards see only that a role is held somewhere (`RequireRoleSomewhere`).
 */
@Injectable()
export class WorkspaceAccess {
  constructor(private readonly workspaces: WorkspaceAccessRepository) {}

  /**
   * Enters the workspace in which something is to be made, and keeps it from being archived until the transaction ends.
   * Errors: 400 for one that is not there, out of reach, or not the one that the header names; 403 without one of the
   * roles; 409 when it is archived.
   *
   * @param named the `workspace_id` of the body
   */
  async enter(tx: Tx, scope: OrgScope, named: string, anyOf: AnyOf): Promise<Scope> {
    if (scope.narrowedTo !== null && named !== scope.narrowedTo) {
      throw unfit(`must be the workspace that ${WORKSPACE_HEADER} names`);
    }
    if (scope.rolesIn(named).size === 0) throw unfit('is not a workspace that you can reach');
    const workspace = await this.workspaces.hold(tx, scope, named);
    if (!workspace) throw unfit('is not a workspace that you can reach');
    demandRole(scope, named, anyOf);
    checkOpen(workspace);
    return within(scope, named);
  }

  /**
   * Admits a change of a resource, and keeps its workspace from being archived until the transaction ends. Errors: 404
   * where the resource is not there or not to be seen, 403 without one of the roles, 409 when the workspace is archived.
   * What is archived itself takes no change, whatever its workspace: archiving it again is answered as before.
   *
   * @param row as it is locked; null where there is none
   * @param kind for people, such as `agent`
   */
  async admit<Row extends Placed>(
    tx: Tx,
    scope: OrgScope,
    row: Row | null,
    kind: string,
    id: string,
    anyOf: AnyOf,
    readers: AnyOf = READERS,
  ): Promise<Row> {
    const seen = readable(scope, row, kind, id, [...readers, ...anyOf]);
    demandRole(scope, seen.workspace_id, anyOf);
    const workspace = await this.workspaces.hold(tx, scope, seen.workspace_id);
    if (workspace && seen.archived_at === null) checkOpen(workspace);
    return seen;
  }
}

/** The resource, where the caller may read it: 404 otherwise. */
export function readable<Row extends Pick<Placed, 'workspace_id'>>(
  scope: OrgScope,
  row: Row | null,
  kind: string,
  id: string,
  readers: AnyOf = READERS,
): Row {
  if (!row || !holdsAny(scope, row.workspace_id, readers)) throw problem.notFound(kind, id);
  return row;
}

/** The rows of a list that the caller may read, of one workspace where the query names one. */
export function whereReadable(scope: OrgScope, workspaceId?: string, readers: AnyOf = READERS): Where {
  const where = new Where(scope.orgKey);
  if (workspaceId !== undefined) {
    return holdsAny(scope, workspaceId, readers)
      ? where.add('workspace_id = ?', workspaceId)
      : where.add('false');
  }
  const reached = readers.map((role) => scope.workspacesWith(role));
  if (reached.includes(null)) return where;
  return where.add('workspace_id = ANY (?)', [...new Set(reached.flatMap((ids) => [...(ids ?? [])]))]);
}

/** 422 where a patch names another workspace than the resource's own: none can be moved. */
export function checkNotMoved(row: Pick<Placed, 'workspace_id'>, named: string | undefined): void {
  if (named !== undefined && named !== row.workspace_id) {
    throw problem.validationFailed([
      { pointer: '/workspace_id', detail: 'a resource cannot be moved to another workspace' },
    ]);
  }
}

/** The caller's scope within a workspace that they have entered. */
export const within = (scope: OrgScope, workspaceId: string): Scope =>
  workspaceScope(scope.orgId, workspaceId, scope.principalId, scope.rolesIn(workspaceId), scope.requestId);

const holdsAny = (scope: OrgScope, workspaceId: string, anyOf: AnyOf): boolean => {
  const held = scope.rolesIn(workspaceId);
  return anyOf.some((role) => held.has(role));
};

/** 403 unless the caller holds one of the roles in a workspace. */
export function demandRole(scope: OrgScope, workspaceId: string, anyOf: AnyOf): void {
  if (!holdsAny(scope, workspaceId, anyOf)) {
    throw problem.accessDenied(`This needs the role ${anyOf.join(' or ')} in the workspace.`);
  }
}

function checkOpen({ archived }: { archived: boolean }): void {
  if (archived) {
    throw problem.conflict('The workspace is archived: what it holds can be read, and takes no changes.');
  }
}

const unfit = (detail: string): Problem => problem.invalidFields([{ pointer: '/workspace_id', detail }]);
