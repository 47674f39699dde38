import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import type { SqlExecutor } from '#platform/db';
import { ServerDirectoryRepository } from './server-directory.repository';

/** A tool of a server, as agents refer to it. */
export interface ToolReference {
  server_id: string;
  tool_name: string;
}

/** What other areas ask about the servers of a workspace. */
@Injectable()
export class ServerDirectory {
  constructor(private readonly servers: ServerDirectoryRepository) {}

  /** Those of the references that are tools which a live server of the workspace offers, in one statement. */
  findTools(on: SqlExecutor, scope: Scope, refs: readonly ToolReference[]): Promise<ToolReference[]> {
    return refs.length === 0 ? Promise.resolve([]) : this.servers.findTools(on, scope, refs);
  }

  /** The ids of the workspace's live servers of these names, by name, in one statement. */
  async idsByName(on: SqlExecutor, scope: Scope, names: readonly string[]): Promise<Map<string, string>> {
    if (names.length === 0) return new Map();
    const rows = await this.servers.findByName(on, scope, names);
    return new Map(rows.map(({ name, server_id }) => [name, server_id]));
  }
}
