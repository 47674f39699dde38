import { Body, Controller, Get, Param, Patch, Post, Query } from '@nestjs/common';
import { ApiCreatedResponse, ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { CurrentScope, type OrgScope, RequireRoleSomewhere } from '#platform/auth';
import { created, IfMatch, pathNumber, type Reply, type Versioned } from '#platform/http';
import { ListQueryDto, type Page } from '#platform/paging';
import { DeleteRoute, DeletionQueryDto, LifecycleController } from '../../resources';
import {
  CreateServerDto,
  PatchServerDto,
  ServerDto,
  ServerListQueryDto,
  ServerPageDto,
  ServerVersionDto,
  ServerVersionPageDto,
} from './server.dto';
import { ServerService } from './server.service';

@ApiTags('MCP servers')
@Controller('mcp/v1/servers')
export class ServerController extends LifecycleController({
  param: 'server_id',
  view: ServerDto,
  archive: { summary: 'Archive an MCP server and its tools, and delete its secret' },
  restore: {
    summary: 'Restore an archived MCP server and its tools',
    description: 'The secret is not restored. Send it again with PATCH.',
  },
  delete: { summary: 'Delete an archived MCP server' },
}) {
  constructor(private readonly servers: ServerService) {
    super(servers);
  }

  /** Register an MCP server */
  @Post()
  @RequireRoleSomewhere('editor')
  @ApiCreatedResponse({ type: ServerDto })
  async create(@CurrentScope() scope: OrgScope, @Body() dto: CreateServerDto): Promise<Reply> {
    const server = await this.servers.create(scope, dto);
    return created(`/mcp/v1/servers/${server.view.server_id}`, server);
  }

  /** List MCP servers, except the system server named `registry` */
  @Get()
  @RequireRoleSomewhere('viewer', 'runtime')
  @ApiOkResponse({ type: ServerPageDto })
  list(@CurrentScope() scope: OrgScope, @Query() query: ServerListQueryDto): Promise<Page<ServerDto>> {
    return this.servers.list(scope, query);
  }

  /** Get an MCP server */
  @Get(':server_id')
  @RequireRoleSomewhere('viewer', 'runtime')
  @ApiOkResponse({ type: ServerDto })
  get(@CurrentScope() scope: OrgScope, @Param('server_id') id: string): Promise<Versioned<ServerDto>> {
    return this.servers.get(scope, id);
  }

  /**
   * Change an MCP server
   *
   * @remarks A server that an app declares is then `drifted` until the app is reconciled.
   */
  @Patch(':server_id')
  @RequireRoleSomewhere('editor')
  @ApiOkResponse({ type: ServerDto })
  patch(
    @CurrentScope() scope: OrgScope,
    @Param('server_id') id: string,
    @Body() dto: PatchServerDto,
    @IfMatch() ifMatch?: string,
  ): Promise<Versioned<ServerDto>> {
    return this.servers.patch(scope, id, dto, ifMatch);
  }

  /** List the versions of an MCP server */
  @Get(':server_id/versions')
  @RequireRoleSomewhere('viewer', 'runtime')
  @ApiOkResponse({ type: ServerVersionPageDto })
  listVersions(
    @CurrentScope() scope: OrgScope,
    @Param('server_id') id: string,
    @Query() query: ListQueryDto,
  ): Promise<Page<ServerVersionDto>> {
    return this.servers.listVersions(scope, id, query);
  }

  /** Get a version of an MCP server */
  @Get(':server_id/versions/:version_ordinal')
  @RequireRoleSomewhere('viewer', 'runtime')
  @ApiOkResponse({ type: ServerVersionDto })
  getVersion(
    @CurrentScope() scope: OrgScope,
    @Param('server_id') id: string,
    @Param('version_ordinal') ordinal: string,
  ): Promise<Versioned<ServerVersionDto>> {
    return this.servers.getVersion(scope, id, pathNumber(ordinal, 'server version'));
  }

  /**
   * Delete a version of an MCP server
   *
   * @remarks Not the newest version (409).
   */
  @DeleteRoute(':server_id/versions/:version_ordinal')
  deleteVersion(
    @CurrentScope() scope: OrgScope,
    @Param('server_id') id: string,
    @Param('version_ordinal') ordinal: string,
    @Query() { force }: DeletionQueryDto,
    @IfMatch() ifMatch?: string,
  ): Promise<void> {
    return this.servers.deleteVersion(scope, id, pathNumber(ordinal, 'server version'), { force, ifMatch });
  }
}
