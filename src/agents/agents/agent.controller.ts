import { Body, Controller, Get, HttpCode, Param, Patch, Post, Query } from '@nestjs/common';
import { ApiCreatedResponse, ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { CurrentScope, type OrgScope, RequireRoleSomewhere } from '#platform/auth';
import { created, IfMatch, pathNumber, type Reply, versioned } from '#platform/http';
import { OrderedListQueryDto, type Page } from '#platform/paging';
import {
  AgentDto,
  AgentListQueryDto,
  AgentPageDto,
  AgentVersionDto,
  AgentVersionPageDto,
  CreateAgentDto,
  PatchAgentDto,
} from './agent.dto';
import { AgentService } from './agent.service';

@ApiTags('Agents')
@Controller('agent/v1/agents')
export class AgentController {
  constructor(private readonly agents: AgentService) {}

  /** Create an agent */
  @Post()
  @RequireRoleSomewhere('editor')
  @ApiCreatedResponse({ type: AgentDto })
  async create(@CurrentScope() scope: OrgScope, @Body() dto: CreateAgentDto): Promise<Reply> {
    const { view, version } = await this.agents.create(scope, dto);
    return created(`/agent/v1/agents/${view.agent_id}`, view, version);
  }

  /** List agents */
  @Get()
  @RequireRoleSomewhere('viewer')
  @ApiOkResponse({ type: AgentPageDto })
  list(@CurrentScope() scope: OrgScope, @Query() query: AgentListQueryDto): Promise<Page<AgentDto>> {
    return this.agents.list(scope, query);
  }

  /** Get an agent */
  @Get(':agent_id')
  @RequireRoleSomewhere('viewer')
  @ApiOkResponse({ type: AgentDto })
  async get(@CurrentScope() scope: OrgScope, @Param('agent_id') id: string): Promise<Reply> {
    const { view, version } = await this.agents.get(scope, id);
    return versioned(view, version);
  }

  /** Change an agent, which makes a version of it */
  @Patch(':agent_id')
  @RequireRoleSomewhere('editor')
  @ApiOkResponse({ type: AgentDto })
  async patch(
    @CurrentScope() scope: OrgScope,
    @Param('agent_id') id: string,
    @Body() dto: PatchAgentDto,
    @IfMatch() ifMatch?: string,
  ): Promise<Reply> {
    const { view, version } = await this.agents.patch(scope, id, dto, ifMatch);
    return versioned(view, version);
  }

  /** Archive an agent */
  @Post(':agent_id/archive')
  @HttpCode(200)
  @RequireRoleSomewhere('admin')
  @ApiOkResponse({ type: AgentDto })
  async archive(
    @CurrentScope() scope: OrgScope,
    @Param('agent_id') id: string,
    @IfMatch() ifMatch?: string,
  ): Promise<Reply> {
    const { view, version } = await this.agents.archive(scope, id, ifMatch);
    return versioned(view, version);
  }

  /** List the versions of an agent */
  @Get(':agent_id/versions')
  @RequireRoleSomewhere('viewer')
  @ApiOkResponse({ type: AgentVersionPageDto })
  listVersions(
    @CurrentScope() scope: OrgScope,
    @Param('agent_id') id: string,
    @Query() query: OrderedListQueryDto,
  ): Promise<Page<AgentVersionDto>> {
    return this.agents.listVersions(scope, id, query);
  }

  /** Get one version of an agent */
  @Get(':agent_id/versions/:version_ordinal')
  @RequireRoleSomewhere('viewer')
  @ApiOkResponse({ type: AgentVersionDto })
  async getVersion(
    @CurrentScope() scope: OrgScope,
    @Param('agent_id') id: string,
    @Param('version_ordinal') ordinal: string,
  ): Promise<Reply> {
    const { view, version } = await this.agents.getVersion(scope, id, pathNumber(ordinal, 'agent version'));
    return versioned(view, version);
  }
}
