import { Injectable } from '@nestjs/common';
import type { CallToolResult } from '@modelcontextprotocol/server';
import { Database } from '#platform/db';
import { Problem, problem } from '#platform/problem';
import { type Audited, AuditLog, given } from '../../resources';
import type { Caller } from '../sessions/caller';
import { type Session, SessionService, type WorkspaceChoice } from '../sessions/session.service';
import { EARLIER_SESSION_TOOL, SESSION_TOOL } from './session.tool';
import { type Arguments, ArgumentSchemas, type AuditedCall, type EndpointTool, type ToolCall } from './tool';
import { ToolCatalogue } from './tool-catalogue';
import { problemOf, toolError, toolResult } from './tool-result';
import { ProtocolError, ProtocolErrorCode } from '../protocol-error';

/** The longest name of an unknown tool that the audit log keeps. */
const NAME_MAX = 128;

/** Control characters, and surrogates without their other half. */
const UNSTORABLE = /[\p{Cc}\p{Cs}]/gu;

/** Why a call may not run. */
interface Refused {
  refused: Problem;
}

/** A call that may run. */
interface Admitted {
  call: ToolCall;
  audited: AuditedCall | null;
}

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
      const outcome = await this.admit(caller, found, args).catch(asRefused);
      await this.record(caller, name, outcome);
      if ('refused' in outcome) throw outcome.refused;
      return toolResult(await found.run(outcome.call));
    } catch (error) {
      if (error instanceof ProtocolError) throw error;
      return toolError(problemOf(error, caller, name));
    }
  }

  private async open(caller: Caller, args: Arguments): Promise<CallToolResult> {
    const outcome = await this.openSession(caller, args).catch(asRefused);
    await this.record(caller, SESSION_TOOL.name, outcome);
    if ('refused' in outcome) throw outcome.refused;
    return toolResult({ ...outcome, instructions: this.catalogue.instructions(caller.principal) });
  }

  private async openSession(caller: Caller, args: Arguments): Promise<Session> {
    this.schemas.check(SESSION_TOOL, args);
    return this.sessions.open(caller, (args as WorkspaceChoice).workspace_id);
  }

  /** Checks the arguments, the workspace and the role, in this order. */
  private async admit(
    caller: Caller,
    { listed, anyOf, isWrite, audited }: EndpointTool,
    args: Arguments,
  ): Promise<Admitted> {
    this.schemas.check(listed, args);
    const { session_handle, workspace_id, ...own } = args as Arguments & WorkspaceChoice;
    const { scope, archived } = await this.sessions.enter(caller, { session_handle, workspace_id });
    if (!anyOf.some((role) => scope.roles.has(role))) {
      throw problem.accessDenied(`Requires the role ${anyOf.join(' or ')} in the workspace.`);
    }
    if (archived && isWrite) {
      throw problem.conflict('The workspace is archived. Its resources can be read but not changed.');
    }
    const call = { caller, scope, args: own };
    return { call, audited: audited ? await audited(call) : null };
  }

  private async refuseUnknown(caller: Caller, name: string): Promise<never> {
    const shown = name.slice(0, NAME_MAX).replace(UNSTORABLE, '');
    await this.record(caller, shown, { refused: problem.notFound('tool') });
    throw new ProtocolError(
      ProtocolErrorCode.InvalidParams,
      `Unknown tool: ${shown}. Call tools/list for the names.`,
    );
  }

  private async record(
    { principal, requestId }: Caller,
    name: string,
    outcome: Admitted | Session | Refused,
  ): Promise<void> {
    const actor = { orgId: principal.orgId, principalId: principal.id, requestId };
    await this.audit.record(this.database, actor, {
      action: 'call',
      type: 'tool',
      ...auditedOf(name, outcome),
    });
  }
}

function auditedOf(
  name: string,
  outcome: Admitted | Session | Refused,
): Pick<Audited, 'id' | 'workspaceId' | 'changes'> {
  if ('refused' in outcome) {
    return { id: name, workspaceId: null, changes: given({ refused: outcome.refused.code }) };
  }
  if ('workspace_id' in outcome) return { id: name, workspaceId: outcome.workspace_id, changes: [] };
  const { call, audited } = outcome;
  const { id, changes } = audited ?? { id: name, changes: {} };
  return { id, workspaceId: call.scope.workspaceId, changes: given(changes) };
}

/** Errors that are not the caller's leave open whether the call may run, so it is not recorded and does not run. */
function asRefused(error: unknown): Refused {
  if (error instanceof Problem && error.status < 500) return { refused: error };
  throw error;
}
