import { Controller, Get, Param, Query } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { CurrentScope, type OrgScope, RequireRoleSomewhere } from '#platform/auth';
import { type Reply, versioned } from '#platform/http';
import type { Page } from '#platform/paging';
import { ToolDto, ToolListQueryDto, ToolPageDto } from './tool.dto';
import { ToolService } from './tool.service';

@ApiTags('MCP servers')
@Controller('mcp/v1/servers/:server_id/tools')
export class ToolController {
  constructor(private readonly tools: ToolService) {}

  /** List the tools of an MCP server, by name */
  @Get()
  @RequireRoleSomewhere('viewer')
  @ApiOkResponse({ type: ToolPageDto })
  list(
    @CurrentScope() scope: OrgScope,
    @Param('server_id') serverId: string,
    @Query() query: ToolListQueryDto,
  ): Promise<Page<ToolDto>> {
    return this.tools.list(scope, serverId, query);
  }

  /** Get a tool of an MCP server */
  @Get(':tool_id')
  @RequireRoleSomewhere('viewer')
  @ApiOkResponse({ type: ToolDto })
  async get(
    @CurrentScope() scope: OrgScope,
    @Param('server_id') serverId: string,
    @Param('tool_id') id: string,
  ): Promise<Reply> {
    const { view, version } = await this.tools.get(scope, serverId, id);
    return versioned(view, version);
  }
}
