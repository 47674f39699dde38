import { Controller, Get, Param, Query } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { CurrentScope, type OrgScope, RequireRoleSomewhere } from '#platform/auth';
import { pathNumber, type Versioned } from '#platform/http';
import { OrderedListQueryDto, type Page } from '#platform/paging';
import { ToolDiffDto, ToolVersionDto, ToolVersionPageDto } from './tool-version.dto';
import { ToolVersionService } from './tool-version.service';

@ApiTags('MCP servers')
@Controller('mcp/v1/servers/:server_id/tools/:tool_id/versions')
export class ToolVersionController {
  constructor(private readonly versions: ToolVersionService) {}

  /**
   * List the versions of a tool, newest first
   *
   * @remarks Only the newest 100 versions are stored.
   */
  @Get()
  @RequireRoleSomewhere('viewer', 'runtime')
  @ApiOkResponse({ type: ToolVersionPageDto })
  list(
    @CurrentScope() scope: OrgScope,
    @Param('server_id') serverId: string,
    @Param('tool_id') toolId: string,
    @Query() query: OrderedListQueryDto,
  ): Promise<Page<ToolVersionDto>> {
    return this.versions.list(scope, serverId, toolId, query);
  }

  /** Compare two versions of a tool */
  @Get(':version_from..:version_to')
  @RequireRoleSomewhere('viewer', 'runtime')
  @ApiOkResponse({ type: ToolDiffDto })
  compare(
    @CurrentScope() scope: OrgScope,
    @Param('server_id') serverId: string,
    @Param('tool_id') toolId: string,
    @Param('version_from') from: string,
    @Param('version_to') to: string,
  ): Promise<ToolDiffDto> {
    const ordinals = [from, to].map((one) => pathNumber(one, 'tool version'));
    return this.versions.diff(scope, serverId, toolId, ordinals[0]!, ordinals[1]!);
  }

  /** Get a version of a tool */
  @Get(':version_ordinal')
  @RequireRoleSomewhere('viewer', 'runtime')
  @ApiOkResponse({ type: ToolVersionDto })
  get(
    @CurrentScope() scope: OrgScope,
    @Param('server_id') serverId: string,
    @Param('tool_id') toolId: string,
    @Param('version_ordinal') ordinal: string,
  ): Promise<Versioned<ToolVersionDto>> {
    return this.versions.get(scope, serverId, toolId, pathNumber(ordinal, 'tool version'));
  }
}
