import type { Versioned } from '#platform/http';
import type { SearchDocument } from '../../registry';
import type { ServerDto, ServerVersionDto } from './server.dto';
import type { ServerEntity, ServerVersionRow } from './server.entity';
import { withoutQuery } from './server-form';

export const toServerDto = (row: ServerEntity): ServerDto => ({
  server_id: row.server_id,
  org_id: row.org_id,
  workspace_id: row.workspace_id,
  name: row.name,
  description: row.description,
  url: row.url,
  transport: row.transport,
  auth: { type: row.auth_type, header: row.auth_header, has_value: row.auth_secret !== null },
  is_system: row.is_system,
  metadata: row.metadata,
  app_id: row.app_id,
  app: row.app,
  sync_state: row.sync_state,
  tools_listed_at: row.tools_listed_at,
  version_ordinal: row.version_ordinal,
  version_id: row.version_id,
  generation: row.generation,
  created_at: row.created_at,
  updated_at: row.updated_at,
  created_by: row.created_by,
  archived_at: row.archived_at,
});

export const toServerVersionDto = (row: ServerVersionRow): ServerVersionDto => ({
  server_id: row.server_id,
  org_id: row.org_id,
  workspace_id: row.workspace_id,
  version_ordinal: row.version_ordinal,
  version_id: row.version_id,
  name: row.name,
  description: row.description,
  url: row.url,
  transport: row.transport,
  auth: { type: row.auth_type, header: row.auth_header },
  created_at: row.created_at,
  created_by: row.created_by,
});

export const versionedView = (row: ServerEntity): Versioned<ServerDto> => ({
  view: toServerDto(row),
  version: row.generation,
});

type Found = Pick<ServerEntity, 'server_id' | 'workspace_id' | 'name' | 'description' | 'url'> &
  Partial<Pick<ServerEntity, 'updated_at'>>;

/** How a server is found: by the host and the path of its address, not by what its query may carry. */
export const toDocument = (row: Found): SearchDocument => ({
  type: 'mcp_server',
  id: row.server_id,
  workspaceId: row.workspace_id,
  name: row.name,
  description: row.description,
  body: withoutQuery(row.url),
  updatedAt: row.updated_at,
});
