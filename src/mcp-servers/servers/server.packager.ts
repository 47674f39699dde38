import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import type { SqlExecutor, Tx } from '#platform/db';
import { outlineOf } from '#platform/http';
import type { Outline } from '#platform/json';
import { JsonThreads } from '#platform/json-threads';
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
import { CreateServerDto } from './server.dto';
import type { ServerEntity, ServerVersionRow } from './server.entity';
import { ServerRepository } from './server.repository';
import { ServerService } from './server.service';
import { DeclaredToolDto, LISTED_TOOLS_MAX } from './tool.dto';
import { ToolStore } from './tool-store';

/** Returns the outline of a packaged server, which can have more tools than a request. */
function packagedOutline(): Outline {
  const created = outlineOf(CreateServerDto) as Extract<Outline, { kind: 'object' }>;
  const tools: Outline = { kind: 'list', of: outlineOf(DeclaredToolDto), max: LISTED_TOOLS_MAX };
  return { ...created, members: { ...created.members, tools } };
}

/**
 * Packs a version of a server with the server's current tools, because tools have their own versions. A package never
 * contains a secret, and installing it never sends one anywhere.
 */
@Injectable()
export class ServerPackager extends OwnedPackager<ServerEntity, ServerVersionRow> {
  private readonly outline = packagedOutline();

  constructor(
    packagers: Packagers,
    servers: ServerRepository,
    private readonly tools: ToolStore,
    private readonly threads: JsonThreads,
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
    const server = await this.threads.read(scope.orgId, stored, this.outline);
    return this.service.install(tx, scope, component, server as PackagedServer);
  }
}
