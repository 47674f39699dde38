import { Injectable } from '@nestjs/common';
import type { OrgScope } from '#platform/auth';
import { Database, followIndexes, raw, type Sql, sql, type Tx, Where } from '#platform/db';
import { firstMillisecond } from '#platform/http';
import { BY_CHANGE, listPage, type RowPage } from '#platform/paging';
import { OWNED_READERS, readableWorkspaces, whereReadable } from '../../resources';
import { REGISTRY_NAME } from '../servers/server.entity';
import { type ListedServer, ordinalOf } from './registry-entry';
import type { RegistryListQueryDto, RegistryPageQueryDto } from './registry-listing.dto';

const COLUMNS = `server_id, workspace_id, version_ordinal, version_id, name, description, url, transport, auth_type,
  auth_header, metadata, updated_at, archived_at, true AS is_latest,
  (SELECT v.created_at FROM mcp_server_versions v
    WHERE v.server_id = mcp_servers.server_id AND v.version_ordinal = mcp_servers.version_ordinal) AS published_at`;

const VERSION_COLUMNS = `v.server_id, v.workspace_id, v.version_ordinal, v.version_id, v.name, v.description, v.url,
  v.transport, v.auth_type, v.auth_header, s.metadata, s.archived_at, v.created_at AS published_at,
  CASE WHEN v.version_ordinal = s.version_ordinal THEN s.updated_at ELSE v.created_at END AS updated_at,
  v.version_ordinal = s.version_ordinal AS is_latest`;

/** Reads servers for the listing, except the system server named `registry`. */
@Injectable()
export class RegistryListingRepository {
  constructor(private readonly database: Database) {}

  /** Lists servers, newest first or by last change. Does not count them, because the format has no totals. */
  async list(tx: Tx, scope: OrgScope, query: RegistryListQueryDto): Promise<RowPage<ListedServer>> {
    const { limit, cursor, updated_since, include_deleted } = query;
    const where = whereReadable(scope, query.workspace_id, OWNED_READERS)
      .addIf(updated_since, (time) => sql`updated_at >= ${firstMillisecond(time)}`)
      .addIf(query.version, versionIs)
      .add(sql`NOT (is_system AND name = ${REGISTRY_NAME})`);
    const serverId = SERVER_ID.exec(query.search ?? '')?.[1];
    if (serverId === undefined) where.addSearch(query.search);
    else where.add(sql`server_id = ${serverId}`);
    // A search uses the GIN index, which has no order. Several workspaces have no common index.
    const ids = query.workspace_id === undefined ? readableWorkspaces(scope, OWNED_READERS) : null;
    if (query.search === undefined && (ids === null || ids.length === 1)) await followIndexes(tx);
    return listPage<ListedServer>(
      tx,
      {
        columns: COLUMNS,
        from: 'mcp_servers',
        where,
        id: 'server_id',
        sorts: BY_CHANGE,
        archivedAt: 'archived_at',
        count: () => Promise.resolve(null),
      },
      {
        limit,
        ...(cursor !== undefined && { cursor }),
        sort: updated_since === undefined ? '-created_at' : 'updated_at',
        include_archived: include_deleted === true || updated_since !== undefined,
      },
    );
  }

  /** Lists the versions of a server, newest first. */
  listVersions(
    scope: OrgScope,
    serverId: string,
    { limit, cursor }: RegistryPageQueryDto,
  ): Promise<RowPage<ListedServer>> {
    return listPage<ListedServer>(
      this.database,
      {
        columns: VERSION_COLUMNS,
        from: VERSIONS,
        where: this.whereOf(scope, serverId),
        id: 'v.version_ordinal',
        idType: 'int8',
        count: () => Promise.resolve(null),
      },
      { limit, ...(cursor !== undefined && { cursor }) },
    );
  }

  /** Finds a version of a server. @param ordinal null for the latest */
  async findVersion(scope: OrgScope, serverId: string, ordinal: number | null): Promise<ListedServer | null> {
    const number: Sql = ordinal === null ? raw('s.version_ordinal') : sql`${ordinal}`;
    const where = this.whereOf(scope, serverId).add(sql`v.version_ordinal = ${number}`);
    const [row] = await this.database.query<ListedServer>(
      sql`SELECT ${raw(VERSION_COLUMNS)} FROM ${raw(VERSIONS)} WHERE ${where.sql}`,
    );
    return row ?? null;
  }

  private whereOf(scope: OrgScope, serverId: string) {
    return new Where(scope.orgKey, 's').add(sql`s.server_id = ${serverId}`);
  }
}

/** A server id, or a server name of the listing, which ends with the id. */
const SERVER_ID = /^(?:[^\s/]+\/)?(mcps_[0-9a-z]{26})$/;

/** Matches the latest version, because each server is listed only with that one. */
function versionIs(version: string): Sql {
  const ordinal = ordinalOf(version);
  if (ordinal === null) return sql`true`;
  return ordinal === undefined ? sql`false` : sql`version_ordinal = ${ordinal}`;
}

const VERSIONS = 'mcp_servers s JOIN mcp_server_versions v ON v.server_id = s.server_id';
