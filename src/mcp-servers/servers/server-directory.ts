import { Injectable } from '@nestjs/common';
import type { OrgScope, Scope } from '#platform/auth';
import type { SqlExecutor } from '#platform/db';
import { ServerRepository } from './server.repository';
import { ToolRepository, type ToolReference, type ToolServer } from './tool.repository';

export type { ToolReference };

/** Looks up the servers of a workspace for other areas. Each lookup is one statement. */
@Injectable()
export class ServerDirectory {
  constructor(
    private readonly servers: ServerRepository,
    private readonly tools: ToolRepository,
  ) {}

  /** Returns which of the referenced tools a live server of the workspace offers. */
  findTools(on: SqlExecutor, scope: Scope, refs: readonly ToolReference[]): Promise<ToolReference[]> {
    return refs.length === 0 ? Promise.resolve([]) : this.tools.findReferenced(on, scope, refs);
  }

  /** Returns which of these servers were deleted. */
  missing(scope: OrgScope, serverIds: readonly string[]): Promise<Set<string>> {
    return this.servers.missing(scope, serverIds);
  }

  /** Returns the servers of tools of the workspace, by tool id. */
  async serversOf(scope: Scope, toolIds: readonly string[]): Promise<Map<string, ToolServer>> {
    const servers = toolIds.length === 0 ? [] : await this.tools.serversOf(scope, toolIds);
    return new Map(servers.map((one) => [one.tool_id, one]));
  }

  /** Returns the ids of the workspace's live servers with these names, by name. */
  idsByName(on: SqlExecutor, scope: Scope, names: readonly string[]): Promise<Map<string, string>> {
    return this.servers.idsByName(on, scope, names);
  }
}
