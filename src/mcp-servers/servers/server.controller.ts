import { Body, Controller, Get, HttpCode, Param, Patch, Post, Query } from '@nestjs/common';
import { ApiCreatedResponse, ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { CurrentScope, type OrgScope, RequireRoleSomewhere } from '#platform/auth';
import { created, IfMatch, pathNumber, type Reply, versioned } from '#platform/http';
import { ListQueryDto, type Page } from '#platform/paging';
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
export class ServerController {
  constructor(private readonly servers: ServerService) {}

  /** Register an MCP server */
  @Post()
  @RequireRoleSomewhere('editor')
  @ApiCreatedResponse({ type: ServerDto })
  async create(@CurrentScope() scope: OrgScope, @Body() dto: CreateServerDto): Promise<Reply> {
    const { view, version } = await this.servers.create(scope, dto);
    return created(`/mcp/v1/servers/${view.server_id}`, view, version);
  }

  /** List MCP servers; a system server named `registry` is not among them */
  @Get()
  @RequireRoleSomewhere('viewer')
  @ApiOkResponse({ type: ServerPageDto })
  list(@CurrentScope() scope: OrgScope, @Query() query: ServerListQueryDto): Promise<Page<ServerDto>> {
    return this.servers.list(scope, query);
  }

  /** Get an MCP server */
  @Get(':server_id')
  @RequireRoleSomewhere('viewer')
  @ApiOkResponse({ type: ServerDto })
  async get(@CurrentScope() scope: OrgScope, @Param('server_id') id: string): Promise<Reply> {
    const { view, version } = await this.servers.get(scope, id);
    return versioned(view, version);
  }

  /** Change an MCP server; what an app declares is `drifted` then, until its next sweep */
  @Patch(':server_id')
  @RequireRoleSomewhere('editor')
  @ApiOkResponse({ type: ServerDto })
  async patch(
    @CurrentScope() scope: OrgScope,
    @Param('server_id') id: string,
    @Body() dto: PatchServerDto,
    @IfMatch() ifMatch?: string,
  ): Promise<Reply> {
    const { view, version } = await this.servers.patch(scope, id, dto, ifMatch);
    return versioned(view, version);
  }

  /** Archive an MCP server and its tools; its secret is deleted */
  @Post(':server_id/archive')
  @HttpCode(200)
  @RequireRoleSomewhere('admin')
  @ApiOkResponse({ type: ServerDto })
  async archive(
    @CurrentScope() scope: OrgScope,
    @Param('server_id') id: string,
    @IfMatch() ifMatch?: string,
  ): Promise<Reply> {
    const { view, version } = await this.servers.archive(scope, id, ifMatch);
    return versioned(view, version);
  }

  /** List the versions of an MCP server */
  @Get(':server_id/versions')
  @RequireRoleSomewhere('viewer')
  @ApiOkResponse({ type: ServerVersionPageDto })
  listVersions(
    @CurrentScope() scope: OrgScope,
    @Param('server_id') id: string,
    @Query() query: ListQueryDto,
  ): Promise<Page<ServerVersionDto>> {
    return this.servers.listVersions(scope, id, query);
  }

  /** Get one version of an MCP server */
  @Get(':server_id/versions/:version_ordinal')
  @RequireRoleSomewhere('viewer')
  @ApiOkResponse({ type: ServerVersionDto })
  async getVersion(
    @CurrentScope() scope: OrgScope,
    @Param('server_id') id: string,
    @Param('version_ordinal') ordinal: string,
  ): Promise<Reply> {
    const found = await this.servers.getVersion(scope, id, pathNumber(ordinal, 'server version'));
    return versioned(found.view, found.version);
  }
}
