import { Body, Controller, Get, HttpCode, Param, Post, Query } from '@nestjs/common';
import { ApiBody, ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { CurrentScope, type OrgScope, RequireRoleSomewhere } from '#platform/auth';
import { RequestBody, RequestSignal, SELECTION_MAX_BYTES } from '#platform/http';
import type { Page } from '#platform/paging';
import {
  type CheckDto,
  CheckListQueryDto,
  CheckPageDto,
  NoMembersDto,
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
  @RequestBody({ kind: 'json', optional: true, limit: SELECTION_MAX_BYTES })
  @ApiBody({ type: NoMembersDto, required: false })
  @ApiOkResponse({ type: ServerTestDto })
  test(
    @CurrentScope() scope: OrgScope,
    @Param('server_id') id: string,
    @Body() _body: NoMembersDto,
    @RequestSignal() signal: AbortSignal,
  ): Promise<ServerTestDto> {
    return this.checks.test(scope, id, signal);
  }

  /** Refresh the tools of an MCP server */
  @Post('refresh')
  @HttpCode(200)
  @RequireRoleSomewhere('editor')
  @RequestBody({ kind: 'json', optional: true, limit: SELECTION_MAX_BYTES })
  @ApiBody({ type: NoMembersDto, required: false })
  @ApiOkResponse({ type: ToolChangesDto })
  refresh(
    @CurrentScope() scope: OrgScope,
    @Param('server_id') id: string,
    @Body() _body: NoMembersDto,
    @RequestSignal() signal: AbortSignal,
  ): Promise<ToolChangesDto> {
    return this.checks.refresh(scope, id, signal);
  }

  /** List the checks of an MCP server, newest first */
  @Get('checks')
  @RequireRoleSomewhere('viewer', 'runtime')
  @ApiOkResponse({ type: CheckPageDto })
  list(
    @CurrentScope() scope: OrgScope,
    @Param('server_id') id: string,
    @Query() query: CheckListQueryDto,
  ): Promise<Page<CheckDto>> {
    return this.checks.list(scope, id, query);
  }
}
