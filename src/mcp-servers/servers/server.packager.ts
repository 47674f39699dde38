import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import type { SqlExecutor, Tx } from '#platform/db';
import {
  type InstalledArtifact,
  jsonFile,
  OwnedPackager,
  type PackedFiles,
  Packagers,
  type PinnedArtifact,
  type PinnedRow,
  readJsonFile,
  type UnpackedComponent,
} from '../../resources';
import { checkPublishable, packagedServer, type PackagedServer, SERVER_FILE } from './server-package';
import type { ServerEntity, ServerVersionRow } from './server.entity';
import { ServerRepository } from './server.repository';
import { ServerService } from './server.service';
import { ToolStore } from './tool-store';

/**
 * Packs a version of a server with the server's current tools, because tools have their own versions. A package never
 * contains a secret, and installing it never sends one anywhere.
 */
@Injectable()
export class ServerPackager extends OwnedPackager<ServerEntity, ServerVersionRow> {
  constructor(
    packagers: Packagers,
    servers: ServerRepository,
    private readonly tools: ToolStore,
    private readonly service: ServerService,
  ) {
    super(packagers, 'mcp_server', servers);
  }

  /** Errors: 422 for a system server, and for a URL with a query. */
  async files(on: SqlExecutor, scope: Scope, { content }: PinnedArtifact): Promise<PackedFiles> {
    const { row, version } = content as PinnedRow<ServerEntity, ServerVersionRow>;
    checkPublishable(row, version);
    const server = packagedServer(version, await this.tools.live(on, scope, row.server_id));
    return { files: [jsonFile(SERVER_FILE, server)] };
  }

  async install(tx: Tx, scope: Scope, component: UnpackedComponent): Promise<InstalledArtifact> {
    const stored = await readJsonFile(component, SERVER_FILE);
    return this.service.install(tx, scope, component, stored.parseExactly() as PackagedServer);
  }
}
