import { Controller, Get, Param, Query } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { CurrentScope, type OrgScope, RequireRoleSomewhere } from '#platform/auth';
import type { Versioned } from '#platform/http';
import type { Page } from '#platform/paging';
import { ServerService } from './server.service';
import { ToolDto, ToolListQueryDto, ToolPageDto } from './tool.dto';

@ApiTags('MCP servers')
@Controller('mcp/v1/servers/:server_id/tools')
export class ToolController {
  constructor(private readonly servers: ServerService) {}

  /** List the tools of an MCP server, by name */
  @Get()
  @RequireRoleSomewhere('viewer', 'runtime')
  @ApiOkResponse({ type: ToolPageDto })
  list(
    @CurrentScope() scope: OrgScope,
    @Param('server_id') serverId: string,
    @Query() query: ToolListQueryDto,
  ): Promise<Page<ToolDto>> {
    return this.servers.listTools(scope, serverId, query);
  }

  /** Get a tool of an MCP server */
  @Get(':tool_id')
  @RequireRoleSomewhere('viewer', 'runtime')
  @ApiOkResponse({ type: ToolDto })
  get(
    @CurrentScope() scope: OrgScope,
    @Param('server_id') serverId: string,
    @Param('tool_id') id: string,
  ): Promise<Versioned<ToolDto>> {
    return this.servers.getTool(scope, serverId, id);
  }
}
