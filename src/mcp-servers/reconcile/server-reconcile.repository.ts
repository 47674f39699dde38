import { Injectable } from '@nestjs/common';
import type { OrgScope, Scope } from '#platform/auth';
import { raw, sql, type Tx } from '#platform/db';
import { toJsonText } from '#platform/json';
import type { ReconciledApp } from '../../resources';
import { REGISTRY_NAME, type ServerEntity } from '../servers/server.entity';
import type { DeclaredContent } from './server-spec';

/** What a plan reads of an app's server. Large members are read as SHA-256 in hexadecimal. */
export interface OwnedServer extends Pick<
  ServerEntity,
  'server_id' | 'name' | 'url' | 'transport' | 'auth_type' | 'auth_header' | 'is_system'
> {
  declared_name: string;
  description_sha256: string | null;
  metadata_sha256: string;
  /** The server has listed its tools itself. */
  is_listed: boolean;
}

/** A server to create or change. */
export interface WrittenServer extends DeclaredContent {
  server_id: string;
  version_id: string;
}

export interface ChangedServer extends WrittenServer {
  makes_version: boolean;
  keeps_secret: boolean;
}

const sha256Of = (text: string) => raw(`encode(sha256(convert_to(${text}, 'UTF8')), 'hex')`);

const CONTENT = raw(
  'name text, description text, url text, transport text, auth_type text, auth_header text, metadata json',
);

/** Reconciles servers, any number of them with one statement. */
@Injectable()
export class ServerReconcileRepository {
  /** Reads and locks the app's live servers. */
  lockOwned(tx: Tx, scope: Scope, app: ReconciledApp): Promise<OwnedServer[]> {
    return tx.query<OwnedServer>(
      sql`SELECT server_id, declared_name, name, url, transport, auth_type, auth_header, is_system,
          ${sha256Of('description')} AS description_sha256, ${sha256Of('metadata::text')} AS metadata_sha256,
          tools_listed_at IS NOT NULL AS is_listed
        FROM mcp_servers
        WHERE app_id = ${app.appId} AND workspace_id = ${scope.workspaceId} AND archived_at IS NULL
        ORDER BY server_id FOR UPDATE`,
    );
  }

  /** Returns the names that live servers of others have. */
  async takenNames(tx: Tx, scope: Scope, app: ReconciledApp, names: readonly string[]): Promise<Set<string>> {
    const rows = await tx.query<{ name: string }>(
      sql`SELECT name FROM mcp_servers
        WHERE workspace_id = ${scope.workspaceId} AND name = ANY (${names}::text[]) AND archived_at IS NULL
          AND app_id IS DISTINCT FROM ${app.appId}`,
    );
    return new Set(rows.map((row) => row.name));
  }

  async create(tx: Tx, scope: Scope, app: ReconciledApp, servers: readonly WrittenServer[]): Promise<void> {
    const now = new Date();
    await tx.query(
      sql`INSERT INTO mcp_servers (server_id, org_id, workspace_id, name, description, url, transport, auth_type,
          auth_header, metadata, app_id, app, declared_name, sync_state, version_id, created_at, updated_at, created_by)
        SELECT server_id, ${scope.orgId}, ${scope.workspaceId}, name, description, url, transport, auth_type, auth_header,
               metadata, ${app.appId}, ${app.app}, name, 'synced', version_id, ${now}::timestamptz, ${now}::timestamptz,
               ${scope.principalId}
        FROM json_to_recordset(${toJsonText(servers)}::json) AS given(server_id text, version_id text, ${CONTENT})`,
    );
  }

  /** Takes the names of servers away before they are renamed, so that they can take each other's. */
  async unname(tx: Tx, scope: Scope, serverIds: readonly string[]): Promise<void> {
    await tx.query(
      sql`UPDATE mcp_servers SET name = server_id
        WHERE server_id = ANY (${serverIds}::text[]) AND workspace_id = ${scope.workspaceId}`,
    );
  }

  async change(tx: Tx, scope: Scope, servers: readonly ChangedServer[]): Promise<void> {
    await tx.query(
      sql`UPDATE mcp_servers s
        SET name = g.name, description = g.description, url = g.url, transport = g.transport, auth_type = g.auth_type,
            auth_header = g.auth_header, metadata = g.metadata, sync_state = 'synced',
            auth_secret = CASE WHEN g.keeps_secret THEN s.auth_secret END,
            version_ordinal = s.version_ordinal + g.makes_version::integer,
            version_id = CASE WHEN g.makes_version THEN g.version_id ELSE s.version_id END,
            generation = s.generation + 1, updated_at = ${new Date()}
        FROM (
          SELECT ${scope.workspaceId}::text AS workspace_id, *
          FROM json_to_recordset(${toJsonText(servers)}::json) AS given(server_id text, version_id text,
            makes_version boolean, keeps_secret boolean, ${CONTENT})
          OFFSET 0
        ) g
        WHERE s.server_id = g.server_id AND s.workspace_id = g.workspace_id`,
    );
  }

  /** Archives the live system servers named `registry` in the whole organization. */
  archiveRegistry(
    tx: Tx,
    scope: OrgScope,
    at: Date,
  ): Promise<Pick<ServerEntity, 'server_id' | 'workspace_id'>[]> {
    return tx.query(
      sql`UPDATE mcp_servers
        SET archived_at = ${at}, updated_at = ${at}, auth_secret = NULL, generation = generation + 1
        WHERE org_id = ${scope.orgId} AND is_system AND name = ${REGISTRY_NAME} AND archived_at IS NULL
        RETURNING server_id, workspace_id`,
    );
  }
}
