import { Injectable } from '@nestjs/common';
import type { OrgScope } from '#platform/auth';
import { Environment } from '#platform/config';
import { Database } from '#platform/db';
import type { RowPage } from '#platform/paging';
import { problem } from '#platform/problem';
import { isRegistry, type ServerEntity } from '../servers/server.entity';
import { ServerService } from '../servers/server.service';
import { type ListedServer, namespaceOf, ordinalOf, toRegistryEntry } from './registry-entry';
import type {
  RegistryEntryDto,
  RegistryListQueryDto,
  RegistryPageDto,
  RegistryPageQueryDto,
  RegistryVersionQueryDto,
} from './registry-listing.dto';
import { RegistryListingRepository } from './registry-listing.repository';

/** The servers that the caller may read, in the format of the public MCP registry. */
@Injectable()
export class RegistryListingService {
  private readonly namespace: string;

  constructor(
    { PUBLIC_URL }: Environment,
    private readonly database: Database,
    private readonly listing: RegistryListingRepository,
    private readonly servers: ServerService,
  ) {
    this.namespace = namespaceOf(PUBLIC_URL);
  }

  async list(scope: OrgScope, query: RegistryListQueryDto): Promise<RegistryPageDto> {
    return this.page(await this.database.transaction((tx) => this.listing.list(tx, scope, query)));
  }

  /** Errors: 404. */
  async listVersions(scope: OrgScope, name: string, query: RegistryPageQueryDto): Promise<RegistryPageDto> {
    const { server_id } = await this.find(scope, name, query);
    return this.page(await this.listing.listVersions(scope, server_id, query));
  }

  /** Returns a version of a server. Errors: 404. @param version such as `1.0.3`, or `latest` */
  async get(
    scope: OrgScope,
    name: string,
    version: string,
    query: RegistryVersionQueryDto,
  ): Promise<RegistryEntryDto> {
    const { server_id } = await this.find(scope, name, query);
    const ordinal = ordinalOf(version);
    const row = ordinal === undefined ? null : await this.listing.findVersion(scope, server_id, ordinal);
    if (!row) throw problem.notFound('server version', version);
    return toRegistryEntry(row, this.namespace);
  }

  private async find(
    scope: OrgScope,
    name: string,
    { include_deleted = false }: RegistryVersionQueryDto,
  ): Promise<ServerEntity> {
    const [namespace, id = '', ...rest] = name.split('/');
    if (namespace !== this.namespace || rest.length > 0) throw problem.notFound('server', name);
    const row = await this.servers.find(scope, id);
    if (isRegistry(row) || (row.archived_at && !include_deleted)) throw problem.notFound('server', id);
    return row;
  }

  private page({ rows, page }: RowPage<ListedServer>): RegistryPageDto {
    return {
      servers: rows.map((row) => toRegistryEntry(row, this.namespace)),
      metadata: {
        count: rows.length,
        ...(page.next_cursor !== null && { nextCursor: page.next_cursor }),
      },
    };
  }
}
