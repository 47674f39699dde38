import { Injectable } from '@nestjs/common';
import type { CallToolResult } from '@modelcontextprotocol/server';
import { checkArea, type EnteredWorkspace } from '#platform/auth';
import { Database } from '#platform/db';
import { Problem, problem } from '#platform/problem';
import { type AuditRecord, AuditLog, createdChanges } from '../../resources';
import type { Caller } from '../sessions/caller';
import { type Session, SessionService, type WorkspaceChoice } from '../sessions/session.service';
import { EARLIER_SESSION_TOOL, SESSION_TOOL } from './session.tool';
import { type Arguments, ArgumentSchemas, type AuditedCall, type EndpointTool, type ToolCall } from './tool';
import { ToolCatalogue } from './tool-catalogue';
import { problemOf, toolError, toolResult } from './tool-result';
import { ProtocolError, ProtocolErrorCode } from '../protocol-error';

/** The maximum length of a caller's text in the audit log, such as the name of an unknown tool. */
const TEXT_MAX = 128;

/** Control characters and lone surrogates. */
const UNSTORABLE = /[\p{Cc}\p{Cs}]/gu;

/** A call that must not run. */
interface RefusedCall {
  refused: Problem;
  /** Null if the call names no workspace that the caller has access to. */
  workspaceId: string | null;
  /**
   * The requested resource if the caller lacks the role. It is looked up, so that the log has no ids of other tenants.
   */
  audited: AuditedCall | null;
}

/** A call that may run. */
interface AdmittedCall {
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
   * Runs a tool. Records the call in the audit log first, even if it is refused. Failures of a tool are results with
   * `isError`. Only an unknown tool is a protocol error.
   */
  async call(caller: Caller, name: string, args: Arguments): Promise<CallToolResult> {
    try {
      if (name === SESSION_TOOL.name || name === EARLIER_SESSION_TOOL) return await this.open(caller, args);
      const tool = this.catalogue.find(name);
      if (!tool) return await this.refuseUnknown(caller, name);
      const outcome = await this.admit(caller, tool, args);
      await this.record(caller, name, outcome);
      if ('refused' in outcome) throw outcome.refused;
      return toolResult(await tool.run(outcome.call));
    } catch (error) {
      if (error instanceof ProtocolError) throw error;
      return toolError(problemOf(error, caller, name), args);
    }
  }

  private async open(caller: Caller, args: Arguments): Promise<CallToolResult> {
    const outcome = await this.openSession(caller, args).catch((error: unknown) => refusedBy(error, null));
    await this.record(caller, SESSION_TOOL.name, outcome);
    if ('refused' in outcome) throw outcome.refused;
    return toolResult({ ...outcome, instructions: this.catalogue.instructions(caller.principal) });
  }

  private async openSession(caller: Caller, args: Arguments): Promise<Session> {
    this.schemas.check(SESSION_TOOL, args);
    return this.sessions.open(caller, (args as WorkspaceChoice).workspace_id);
  }

  private async admit(
    caller: Caller,
    tool: EndpointTool,
    args: Arguments,
  ): Promise<AdmittedCall | RefusedCall> {
    let entered: EnteredWorkspace | null = null;
    try {
      entered = await this.enter(caller, tool, args);
      return await this.admitTo(entered, caller, tool, args);
    } catch (error) {
      const isDenied =
        error instanceof Problem && (error.code === 'access_denied' || error.code === 'forbidden');
      const requested =
        entered && isDenied ? await this.requestedResource(entered, caller, tool, args) : null;
      return refusedBy(error, entered, requested);
    }
  }

  /** Enters the workspace first, so that the log of a refused call names it. */
  private enter(caller: Caller, { listed }: EndpointTool, args: Arguments): Promise<EnteredWorkspace> {
    const { session_handle, workspace_id } = args;
    if (!isTextOrAbsent(session_handle) || !isTextOrAbsent(workspace_id)) this.schemas.check(listed, args);
    return this.sessions.enter(caller, { session_handle, workspace_id } as WorkspaceChoice);
  }

  /** Returns the resource that a denied call requested, if it exists in the workspace. */
  private async requestedResource(
    { scope }: EnteredWorkspace,
    caller: Caller,
    { listed, audited }: EndpointTool,
    args: Arguments,
  ): Promise<AuditedCall | null> {
    try {
      this.schemas.check(listed, args);
      return audited ? await audited({ caller, scope, args: withoutWorkspace(args) }) : null;
    } catch (error) {
      if (error instanceof Problem && error.status < 500) return null;
      throw error;
    }
  }

  /** Checks the key, the role, the arguments and the state of the workspace, in this order. */
  private async admitTo(
    { scope, archived }: EnteredWorkspace,
    caller: Caller,
    { listed, anyOf, areas, isWrite, audited, check }: EndpointTool,
    args: Arguments,
  ): Promise<AdmittedCall> {
    checkArea(caller.principal.allow, areas);
    if (!anyOf.some((role) => scope.roles.has(role))) {
      throw problem.accessDenied(`Requires the role ${anyOf.join(' or ')} in the workspace.`);
    }
    this.schemas.check(listed, args);
    if (archived && isWrite) {
      throw problem.conflict('The workspace is archived. Its resources can be read but not changed.');
    }
    const call = { caller, scope, args: withoutWorkspace(args) };
    const recorded = audited ? await audited(call) : null;
    if (check) await check(call);
    return { call, audited: recorded };
  }

  private async refuseUnknown(caller: Caller, name: string): Promise<never> {
    const toolName = storable(name);
    await this.record(caller, toolName, {
      refused: problem.notFound('tool'),
      workspaceId: null,
      audited: null,
    });
    throw new ProtocolError(
      ProtocolErrorCode.InvalidParams,
      `Unknown tool: ${toolName}. Call tools/list for the names.`,
    );
  }

  private async record(
    { principal, requestId }: Caller,
    name: string,
    outcome: AdmittedCall | Session | RefusedCall,
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
  outcome: AdmittedCall | Session | RefusedCall,
): Pick<AuditRecord, 'id' | 'workspaceId' | 'changes'> {
  if ('refused' in outcome) {
    const { refused, workspaceId, audited } = outcome;
    const { id, changes } = audited ?? { id: name, changes: {} };
    return { id, workspaceId, changes: createdChanges({ refused: refused.code, ...changes }) };
  }
  if ('workspace_id' in outcome) return { id: name, workspaceId: outcome.workspace_id, changes: [] };
  const { call, audited } = outcome;
  const { id, changes } = audited ?? { id: name, changes: {} };
  return { id, workspaceId: call.scope.workspaceId, changes: createdChanges(changes) };
}

/** Returns the refusal for an error of the caller. Throws other errors again, so that the call does not run. */
function refusedBy(
  error: unknown,
  entered: EnteredWorkspace | null,
  audited: AuditedCall | null = null,
): RefusedCall {
  if (!(error instanceof Problem) || error.status >= 500) throw error;
  return { refused: error, workspaceId: entered?.scope.workspaceId ?? null, audited };
}

const withoutWorkspace = ({ session_handle: _, workspace_id: __, ...own }: Arguments): Arguments => own;

const isTextOrAbsent = (value: unknown): boolean => value === undefined || typeof value === 'string';

/** Returns the beginning of a caller's text, without the characters that the log cannot store. */
const storable = (text: string): string => text.slice(0, TEXT_MAX).replace(UNSTORABLE, '');
