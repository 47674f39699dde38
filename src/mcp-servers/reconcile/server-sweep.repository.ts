import { Injectable } from '@nestjs/common';
import type { OrgScope, Scope } from '#platform/auth';
import type { Tx } from '#platform/db';
import { toJsonText } from '#platform/json';
import { OwnedRepository, type SweptApp } from '../../registry';
import { REGISTRY_NAME, type ServerEntity } from '../servers/server.entity';
import type { DeclaredContent } from './server-spec';

/** What tells how a server differs from its declaration. Of what may be large, the SHA-256 in hexadecimal. */
export interface OwnedServer extends Pick<
  ServerEntity,
  'server_id' | 'name' | 'url' | 'transport' | 'auth_type' | 'auth_header' | 'is_system'
> {
  declared_name: string;
  /** Null where there is none. */
  description_sha256: string | null;
  metadata_sha256: string;
  is_listed: boolean;
}

/** A server to be made or changed. */
export interface WrittenServer extends DeclaredContent {
  server_id: string;
  version_id: string;
}

export interface ChangedServer extends WrittenServer {
  makes_version: boolean;
  keeps_secret: boolean;
}

const sha256Of = (text: string): string => `encode(sha256(convert_to(${text}, 'UTF8')), 'hex')`;

const OWNED = `SELECT server_id, declared_name, name, url, transport, auth_type, auth_header, is_system,
    ${sha256Of('description')} AS description_sha256, ${sha256Of('metadata::text')} AS metadata_sha256,
    tools_listed_at IS NOT NULL AS is_listed
  FROM mcp_servers WHERE app_id = $1 AND workspace_id = $2 AND archived_at IS NULL
  ORDER BY server_id FOR UPDATE`;

const CONTENT =
  'name text, description text, url text, transport text, auth_type text, auth_header text, metadata json';

const CREATE = `INSERT INTO mcp_servers (server_id, org_id, workspace_id, name, description, url, transport, auth_type,
    auth_header, metadata, app_id, app, declared_name, sync_state, version_id, created_at, updated_at, created_by)
  SELECT server_id, $2, $3, name, description, url, transport, auth_type, auth_header, metadata, $4, $5, name, 'synced',
         version_id, $6, $6, $7
  FROM json_to_recordset($1::json) AS given(server_id text, version_id text, ${CONTENT})`;

const CHANGE = `UPDATE mcp_servers s
  SET name = g.name, description = g.description, url = g.url, transport = g.transport, auth_type = g.auth_type,
      auth_header = g.auth_header, metadata = g.metadata, sync_state = 'synced',
      auth_secret = CASE WHEN g.keeps_secret THEN s.auth_secret END,
      version_ordinal = s.version_ordinal + g.makes_version::integer,
      version_id = CASE WHEN g.makes_version THEN g.version_id ELSE s.version_id END,
      generation = s.generation + 1, updated_at = $3
  FROM (SELECT $2::text AS workspace_id, *
        FROM json_to_recordset($1::json) AS given(server_id text, version_id text, makes_version boolean,
          keeps_secret boolean, ${CONTENT})
        OFFSET 0) g
  WHERE s.server_id = g.server_id AND s.workspace_id = g.workspace_id`;

/** What the sweeps of apps do to servers; each in one statement. */
@Injectable()
export class ServerSweepRepository extends OwnedRepository {
  constructor() {
    super({ table: 'mcp_servers', id: 'server_id', declaredName: 'declared_name', secret: 'auth_secret' });
  }

  /** The app's live servers, locked. */
  lockOwned(tx: Tx, scope: Scope, app: SweptApp): Promise<OwnedServer[]> {
    return tx.query<OwnedServer>(OWNED, [app.appId, scope.workspaceId]);
  }

  /** Those of the names that live servers have which are not the app's. */
  async taken(tx: Tx, scope: Scope, app: SweptApp, names: readonly string[]): Promise<Set<string>> {
    const rows = await tx.query<{ name: string }>(
      `SELECT name FROM mcp_servers WHERE workspace_id = $1 AND name = ANY ($2::text[]) AND archived_at IS NULL
         AND app_id IS DISTINCT FROM $3`,
      [scope.workspaceId, names, app.appId],
    );
    return new Set(rows.map((row) => row.name));
  }

  async create(tx: Tx, scope: Scope, app: SweptApp, servers: readonly WrittenServer[]): Promise<void> {
    const { orgId, workspaceId, principalId } = scope;
    const values = [orgId, workspaceId, app.appId, app.app, new Date(), principalId];
    await tx.query(CREATE, [toJsonText(servers), ...values]);
  }

  /** Takes the names of servers away that are to have others, so that they can take each other's. */
  async unname(tx: Tx, scope: Scope, serverIds: readonly string[]): Promise<void> {
    await tx.query(
      'UPDATE mcp_servers SET name = server_id WHERE server_id = ANY ($1::text[]) AND workspace_id = $2',
      [serverIds, scope.workspaceId],
    );
  }

  async change(tx: Tx, scope: Scope, servers: readonly ChangedServer[]): Promise<void> {
    await tx.query(CHANGE, [toJsonText(servers), scope.workspaceId, new Date()]);
  }

  /** Archives the live system servers named `registry`, in all of the organization. */
  archiveRegistry(tx: Tx, scope: OrgScope): Promise<Pick<ServerEntity, 'server_id' | 'workspace_id'>[]> {
    return tx.query(
      `UPDATE mcp_servers
       SET archived_at = $3, updated_at = $3, auth_secret = NULL, generation = generation + 1
       WHERE org_id = $1 AND is_system AND name = $2 AND archived_at IS NULL RETURNING server_id, workspace_id`,
      [scope.orgId, REGISTRY_NAME, new Date()],
    );
  }
}
