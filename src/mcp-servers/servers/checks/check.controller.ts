import { Controller, Get, HttpCode, Param, Post, Query } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { CurrentScope, type OrgScope, RequireRoleSomewhere } from '#platform/auth';
import { Reply, RequestSignal } from '#platform/http';
import type { Page } from '#platform/paging';
import {
  type ServerCheckDto,
  CheckListQueryDto,
  ServerCheckPageDto,
  ServerTestDto,
  ToolChangesDto,
} from './check.dto';
import { CheckService } from './check.service';

@ApiTags('MCP servers')
@Controller('mcp/v1/servers/:server_id')
export class CheckController {
  constructor(private readonly checks: CheckService) {}

  /** Test whether an MCP server can be used, and refresh its tools */
  @Post('test')
  @HttpCode(200)
  @RequireRoleSomewhere('editor')
  @ApiOkResponse({ type: ServerTestDto })
  async test(
    @CurrentScope() scope: OrgScope,
    @Param('server_id') id: string,
    @RequestSignal() signal: AbortSignal,
  ): Promise<Reply> {
    const { view, workspaceId } = await this.checks.test(scope, id, signal);
    return new Reply(200, view, {}, workspaceId);
  }

  /** Refresh the tools of an MCP server */
  @Post('refresh')
  @HttpCode(200)
  @RequireRoleSomewhere('editor')
  @ApiOkResponse({ type: ToolChangesDto })
  async refresh(
    @CurrentScope() scope: OrgScope,
    @Param('server_id') id: string,
    @RequestSignal() signal: AbortSignal,
  ): Promise<Reply> {
    const { view, workspaceId } = await this.checks.refresh(scope, id, signal);
    return new Reply(200, view, {}, workspaceId);
  }

  /** List the checks of an MCP server, newest first */
  @Get('checks')
  @RequireRoleSomewhere('viewer', 'runtime')
  @ApiOkResponse({ type: ServerCheckPageDto })
  listChecks(
    @CurrentScope() scope: OrgScope,
    @Param('server_id') id: string,
    @Query() query: CheckListQueryDto,
  ): Promise<Page<ServerCheckDto>> {
    return this.checks.list(scope, id, query);
  }
}
