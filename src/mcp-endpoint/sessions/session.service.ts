import { Injectable } from '@nestjs/common';
import { checkArea, type EnteredWorkspace, type OrgScope, scopeOf, WorkspaceScopes } from '#platform/auth';
import { type Problem, problem } from '#platform/problem';
import { WorkspaceRepository } from '../../registry';
import type { Caller } from './caller';
import { SessionHandles } from './session-handle';

/** The maximum number of workspaces that an error lists. */
const LISTED_MAX = 50;

/** How a call names its workspace. */
export interface WorkspaceChoice {
  session_handle?: string;
  workspace_id?: string;
}

/** An opened session. */
export interface Session {
  session_handle: string;
  workspace_id: string;
  org_id: string;
  expires_at: string;
}

/** Opens sessions, and enters the workspace of a call. */
@Injectable()
export class SessionService {
  constructor(
    private readonly handles: SessionHandles,
    private readonly scopes: WorkspaceScopes,
    private readonly workspaces: WorkspaceRepository,
  ) {}

  /**
   * Opens a session in the named workspace. The default is the workspace of the request's header, or else the only live
   * workspace that the caller has access to. Errors: 400 that lists the workspaces if there are several; 403 if there is
   * none; 404.
   */
  async open(caller: Caller, named: string | undefined): Promise<Session> {
    const workspaceId = named ?? caller.workspaceId ?? (await this.onlyWorkspace(caller));
    await this.enterWorkspace(caller, workspaceId, 'Omit workspace_id to see which workspaces you can use.');
    const { session_handle, expires_at } = this.handles.create(caller.principal, workspaceId);
    return {
      session_handle,
      workspace_id: workspaceId,
      org_id: caller.principal.orgId,
      expires_at,
    };
  }

  /** Enters the workspace of a call. Errors: 400 if the call names none, 404 if the caller has no access to it. */
  async enter(caller: Caller, choice: WorkspaceChoice): Promise<EnteredWorkspace> {
    return this.enterWorkspace(caller, this.chooseWorkspace(caller, choice));
  }

  /**
   * Returns the scope of reads by URI or by name: the workspace of the request's header, or else all workspaces of the
   * caller. Errors: 403 for a key without the area `read`, 404.
   */
  async readScope({ principal, requestId, workspaceId }: Caller): Promise<OrgScope> {
    checkArea(principal.allow, ['read']);
    if (workspaceId === undefined) return scopeOf(principal, requestId);
    const entered = await this.scopes.enter(principal, workspaceId, requestId);
    if (!entered) throw problem.notFound('workspace', workspaceId);
    return entered.scope;
  }

  private chooseWorkspace(
    caller: Caller,
    { session_handle: handle, workspace_id: named }: WorkspaceChoice,
  ): string {
    const handleWorkspace = handle === undefined ? undefined : this.handles.open(caller.principal, handle);
    if (handleWorkspace !== undefined && named !== undefined && handleWorkspace !== named) {
      throw problem.invalidRequest(
        'workspace_id is not the workspace of the session_handle. Send only one of them.',
      );
    }
    const workspaceId = handleWorkspace ?? named ?? caller.workspaceId;
    if (workspaceId !== undefined) return workspaceId;
    throw problem.invalidRequest(
      'Send session_handle or workspace_id. Call mcp__initialise first to get a session_handle.',
    );
  }

  private async enterWorkspace(
    { principal, requestId }: Caller,
    workspaceId: string,
    hint = 'Call mcp__initialise to get a workspace that you can use.',
  ): Promise<EnteredWorkspace> {
    const entered = await this.scopes.enter(principal, workspaceId, requestId);
    if (!entered) throw problem.notFound('workspace', workspaceId, hint);
    return entered;
  }

  private async onlyWorkspace({ principal, requestId }: Caller): Promise<string> {
    const workspaces = await this.workspaces.listAccessible(scopeOf(principal, requestId), LISTED_MAX + 1);
    const [first, second] = workspaces;
    if (!first) throw problem.accessDenied('You have no access to any workspace. Ask an admin for a role.');
    if (second) throw severalWorkspaces(workspaces);
    return first.workspace_id;
  }
}

function severalWorkspaces(workspaces: readonly { workspace_id: string; name: string }[]): Problem {
  const listed = workspaces
    .slice(0, LISTED_MAX)
    .map(({ workspace_id, name }) => `${workspace_id} (${JSON.stringify(name)})`);
  const more = workspaces.length > LISTED_MAX ? ', and more' : '';
  return problem.invalidRequest(
    `You have access to several workspaces. Call mcp__initialise again with the workspace_id of one of them: ${listed.join(', ')}${more}.`,
  );
}
