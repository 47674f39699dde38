import { problem } from '#platform/problem';
import { type InstalledArtifact, installedArtifact } from '../../resources';
import type { CreateServerDto } from './server.dto';
import { type GivenAuth, SERVER_AUTH } from './server-auth';
import type { AuthColumns, ServerEntity, ServerVersionRow, Transport } from './server.entity';
import type { DeclaredToolDto } from './tool.dto';
import type { PackagedTool } from './tool.repository';

/** The file of a server in a package. */
export const SERVER_FILE = 'mcp_server.json';

/** The content of `mcp_server.json`. It contains no secret. */
export interface PackagedServer extends Pick<CreateServerDto, 'name' | 'url'> {
  description: string | null;
  transport: Transport;
  auth: GivenAuth;
  tools: DeclaredToolDto[];
}

/** Returns the content of the package for a version of a server with tools. */
export const packagedServer = (version: ServerVersionRow, tools: readonly PackagedTool[]): object => ({
  name: version.name,
  description: version.description,
  url: version.url,
  transport: version.transport,
  auth: packagedAuth(version),
  tools,
});

/** Omits the members of `oauth` for other types, so that the packages of those stay byte-identical. */
const packagedAuth = ({ auth_type: type, auth_header: header, ...oauth }: AuthColumns): GivenAuth => ({
  type,
  header,
  ...(type === 'oauth' && {
    token_url: oauth.auth_token_url,
    client_id: oauth.auth_client_id,
    scope: oauth.auth_scope,
  }),
});

/** Throws 422 for a server that cannot be published. */
export function checkPublishable(
  { server_id, is_system }: Pick<ServerEntity, 'server_id' | 'is_system'>,
  { name, url, auth_token_url }: ServerVersionRow,
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
  if (auth_token_url?.includes('?')) {
    throw problem.validationFailed(
      `${server} has a token URL with a query, which may contain a key. Remove the query.`,
    );
  }
}

/** Returns an installed copy with the setup that it still needs. */
export function installedServer(before: ServerEntity | null, row: ServerEntity): InstalledArtifact {
  const installed = installedArtifact('mcp_server', row.server_id, before, row);
  const member = SERVER_AUTH.secretMember(row.auth_type);
  if (member === null || row.auth_secret !== null) return installed;
  const setup = `Send the server's secret as \`auth.${member}\` with PATCH /mcp/v1/servers/${row.server_id}.`;
  return { ...installed, setup };
}
