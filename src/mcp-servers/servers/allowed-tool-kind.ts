import { Injectable } from '@nestjs/common';
import { type OrgScope, toolKey } from '#platform/auth';
import type { SqlExecutor } from '#platform/db';
import { type AllowedKind, AllowedKinds, type AllowedResource, NamedResources } from '../../resources';
import { ToolRepository } from './tool.repository';

/** A way to read a reference such as `weather/forecast`. Names of servers and tools can contain slashes too. */
interface Reading {
  reference: string;
  server: string;
  tool: string;
}

/** Finds tools for the limits of keys, by the name or id of their server and their own name. */
@Injectable()
export class AllowedToolKind implements AllowedKind {
  private readonly servers = new NamedResources('mcp_servers', 'server_id');

  constructor(
    kinds: AllowedKinds,
    private readonly tools: ToolRepository,
  ) {
    kinds.add('tools', this);
  }

  async find(
    on: SqlExecutor,
    scope: OrgScope,
    workspaceIds: readonly string[] | null,
    references: readonly string[],
  ): Promise<AllowedResource[]> {
    const readings = references.flatMap(readingsOf);
    const names = [...new Set(readings.map(({ server }) => server))];
    const servers = await this.servers.find(on, scope, workspaceIds, names);
    const candidates = readings.flatMap(({ reference, server, tool }) =>
      servers
        .filter((one) => one.reference === server)
        .map(({ id }) => ({ reference, server_id: id, tool_name: tool })),
    );
    const live = await this.tools.findLiveTools(on, scope, candidates);
    const keys = new Set(live.map(({ server_id, tool_name }) => toolKey(server_id, tool_name)));
    return candidates
      .map(({ reference, server_id, tool_name }) => ({ reference, id: toolKey(server_id, tool_name) }))
      .filter(({ id }) => keys.has(id));
  }

  async namesOf(
    on: SqlExecutor,
    scope: OrgScope,
    ids: readonly string[],
  ): Promise<ReadonlyMap<string, string>> {
    const split = ids.map((id) => [id, ...splitAt(id, id.indexOf('/'))] as const);
    const servers = await this.servers.namesOf(
      on,
      scope,
      split.map(([, serverId]) => serverId),
    );
    return new Map(
      split.map(([id, serverId, tool]) => [id, toolKey(servers.get(serverId) ?? serverId, tool)]),
    );
  }
}

function readingsOf(reference: string): Reading[] {
  const readings: Reading[] = [];
  for (let at = reference.indexOf('/'); at >= 0; at = reference.indexOf('/', at + 1)) {
    const [server, tool] = splitAt(reference, at);
    readings.push({ reference, server, tool });
  }
  return readings;
}

const splitAt = (text: string, at: number): [before: string, after: string] => [
  text.slice(0, at),
  text.slice(at + 1),
];
