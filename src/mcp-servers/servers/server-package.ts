import { problem } from '#platform/problem';
import { type InstalledArtifact, installedArtifact } from '../../resources';
import type { CreateServerDto } from './server.dto';
import type { AuthType, ServerEntity, ServerVersionRow, Transport } from './server.entity';
import type { GivenToolDto } from './tool.dto';
import type { PackagedTool } from './tool.repository';

/** The file of a server in a package. */
export const SERVER_FILE = 'mcp_server.json';

/** The content of that file. It has no secret. */
export interface PackagedServer extends Pick<CreateServerDto, 'name' | 'url'> {
  description: string | null;
  transport: Transport;
  auth: { type: AuthType; header: string | null };
  tools: GivenToolDto[];
}

/** Returns a version of a server with tools, for its package. */
export const packagedServer = (version: ServerVersionRow, tools: readonly PackagedTool[]): object => ({
  name: version.name,
  description: version.description,
  url: version.url,
  transport: version.transport,
  auth: { type: version.auth_type, header: version.auth_header },
  tools,
});

/** Throws 422 for a server that cannot be published. */
export function checkPublishable(
  { server_id, is_system }: Pick<ServerEntity, 'server_id' | 'is_system'>,
  { name, url }: ServerVersionRow,
): void {
  const server = `The MCP server ${JSON.stringify(name)} (${server_id})`;
  if (is_system) {
    throw problem.validationFailed(`${server} belongs to the platform. System servers cannot be published.`);
  }
  if (url.includes('?')) {
    throw problem.validationFailed(
      `${server} has a URL with a query, which may contain a key. Remove the query, and send the key in \`auth\`.`,
    );
  }
}

/** Returns an installed copy, with what is missing before it works. */
export function installedServer(before: ServerEntity | null, row: ServerEntity): InstalledArtifact {
  const installed = installedArtifact('mcp_server', row.server_id, before, row);
  if (row.auth_type === 'none' || row.auth_secret !== null) return installed;
  const setup = `Send the server's secret as \`auth.value\` with PATCH /mcp/v1/servers/${row.server_id}.`;
  return { ...installed, setup };
}
