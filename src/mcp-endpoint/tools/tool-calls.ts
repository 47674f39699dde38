import { Injectable } from '@nestjs/common';
import { type CallToolResult, ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server';
import { Database } from '#platform/db';
import { Problem, problem } from '#platform/problem';
import { AuditLog } from '../../resources';
import type { Caller } from '../sessions/caller';
import { SessionService, type WorkspaceChoice } from '../sessions/session.service';
import { EARLIER_SESSION_TOOL, SESSION_TOOL } from './session.tool';
import { type Arguments, ArgumentSchemas, type EndpointTool, type ToolCall } from './tool';
import { ToolCatalogue } from './tool-catalogue';
import { problemOf, toolError, toolResult } from './tool-result';

/** The longest name of an unknown tool that the audit log keeps. */
const NAME_MAX = 128;

/** A call that may run, or the reason why it may not. */
type Prepared = { call: ToolCall } | { refused: Problem };

/** Runs `tools/call`. */
@Injectable()
export class ToolCalls {
  private readonly schemas = new ArgumentSchemas();

  constructor(
    private readonly database: Database,
    private readonly catalogue: ToolCatalogue,
    private readonly sessions: SessionService,
    private readonly audit: AuditLog,
  ) {}

  /**
   * Runs a tool. Records the call in the audit log first, also if it is refused. Whatever the tool cannot do is a result
   * with `isError`; only an unknown tool is a protocol error.
   */
  async call(caller: Caller, name: string, args: Arguments): Promise<CallToolResult> {
    try {
      if (name === SESSION_TOOL.name || name === EARLIER_SESSION_TOOL) return await this.open(caller, args);
      const found = this.catalogue.find(name);
      if (!found) return await this.refuseUnknown(caller, name);
      const prepared = await this.prepare(caller, found, args).catch(asRefused);
      const workspaceId = 'call' in prepared ? prepared.call.scope.workspaceId : null;
      await this.record(caller, name, workspaceId, prepared);
      if ('refused' in prepared) throw prepared.refused;
      return toolResult(await found.run(prepared.call));
    } catch (error) {
      if (error instanceof ProtocolError) throw error;
      return toolError(problemOf(error, caller, name));
    }
  }

  private async open(caller: Caller, args: Arguments): Promise<CallToolResult> {
    const opened = this.openSession(caller, args as WorkspaceChoice);
    const outcome = await opened.catch(asRefused);
    const isOpen = !('refused' in outcome);
    await this.record(caller, SESSION_TOOL.name, isOpen ? outcome.workspace_id : null, outcome);
    if (!isOpen) throw outcome.refused;
    return toolResult(outcome);
  }

  private async openSession(caller: Caller, args: WorkspaceChoice) {
    this.schemas.check(SESSION_TOOL, args as Arguments);
    return this.sessions.open(caller, args.workspace_id);
  }

  /** Checks the arguments, the workspace and the role, in this order. */
  private async prepare(
    caller: Caller,
    { listed, anyOf, isWrite }: EndpointTool,
    args: Arguments,
  ): Promise<Prepared> {
    this.schemas.check(listed, args);
    const { session_handle, workspace_id, ...own } = args as Arguments & WorkspaceChoice;
    const { scope, archived } = await this.sessions.enter(caller, { session_handle, workspace_id });
    if (!anyOf.some((role) => scope.roles.has(role))) {
      throw problem.accessDenied(`Requires the role ${anyOf.join(' or ')} in the workspace.`);
    }
    if (archived && isWrite) {
      throw problem.conflict('The workspace is archived. Its resources can be read but not changed.');
    }
    return { call: { caller, scope, args: own } };
  }

  private async refuseUnknown(caller: Caller, name: string): Promise<never> {
    const refused = problem.notFound('tool');
    await this.record(caller, name.slice(0, NAME_MAX), null, { refused });
    throw new ProtocolError(
      ProtocolErrorCode.InvalidParams,
      `Unknown tool: ${name.slice(0, NAME_MAX)}. tools/list names the tools.`,
    );
  }

  private async record(
    { principal, requestId }: Caller,
    name: string,
    workspaceId: string | null,
    outcome: object,
  ): Promise<void> {
    const actor = { orgId: principal.orgId, principalId: principal.id, requestId };
    const changes =
      'refused' in outcome ? [{ member: 'refused', after: (outcome.refused as Problem).code }] : [];
    await this.audit.record(this.database, actor, {
      action: 'call',
      type: 'tool',
      id: name,
      workspaceId,
      changes,
    });
  }
}

/** Errors that are not the caller's mean that nothing is known about the call, so it does not run. */
function asRefused(error: unknown): { refused: Problem } {
  if (error instanceof Problem && error.status < 500) return { refused: error };
  throw error;
}
