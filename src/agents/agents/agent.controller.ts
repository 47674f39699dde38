import { Body, Controller, Get, HttpCode, Param, Patch, Post, Query, Req } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import type { Request } from 'express';
import { CurrentScope, type OrgScope, RequireRoleSomewhere } from '#platform/auth';
import { Environment } from '#platform/config';
import { ApiSchemas, created, IfMatch, knownBaseUrl, type Reply, type Versioned } from '#platform/http';
import { OrderedListQueryDto, type Page } from '#platform/paging';
import {
  CreatesNamed,
  CreationQueryDto,
  DeleteRoute,
  DeletionQueryDto,
  LifecycleController,
  pathVersion,
  TakesVersionName,
} from '../../resources';
import { AGENT_CARD } from './agent-card';
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
export class AgentController extends LifecycleController({
  param: 'agent_id',
  view: AgentDto,
  archive: { summary: 'Archive an agent' },
  restore: { summary: 'Restore an archived agent' },
  delete: { summary: 'Delete an archived agent' },
}) {
  constructor(
    private readonly agents: AgentService,
    private readonly environment: Environment,
  ) {
    super(agents);
  }

  /** Create an agent */
  @Post()
  @RequireRoleSomewhere('editor')
  @CreatesNamed(AgentDto)
  async create(
    @CurrentScope() scope: OrgScope,
    @Body() dto: CreateAgentDto,
    @Query() { on_conflict }: CreationQueryDto,
  ): Promise<Reply> {
    const agent = await this.agents.create(scope, dto, on_conflict);
    return created(`/agent/v1/agents/${agent.view.agent_id}`, agent);
  }

  /** List agents */
  @Get()
  @RequireRoleSomewhere('viewer', 'runtime')
  @ApiOkResponse({ type: AgentPageDto })
  list(@CurrentScope() scope: OrgScope, @Query() query: AgentListQueryDto): Promise<Page<AgentDto>> {
    return this.agents.list(scope, query);
  }

  /** Get an agent */
  @Get(':agent_id')
  @RequireRoleSomewhere('viewer', 'runtime')
  @ApiOkResponse({ type: AgentDto })
  get(@CurrentScope() scope: OrgScope, @Param('agent_id') id: string): Promise<Versioned<AgentDto>> {
    return this.agents.get(scope, id);
  }

  /**
   * Get the A2A card of an agent
   *
   * @remarks The newest version of the agent as an agent card of A2A 1.0: its name, description and skills, and the members that its `card` sets. Without skills, the agent itself is the skill. Without `supportedInterfaces`, the card names the sessions of the agent in this service, and returns 404 if the service does not know its own URL (`PUBLIC_URL`).
   */
  @Get(':agent_id/card')
  @RequireRoleSomewhere('viewer', 'runtime')
  @ApiSchemas({ AgentCard: AGENT_CARD })
  @ApiOkResponse({ schema: { $ref: '#/components/schemas/AgentCard' } })
  getCard(
    @CurrentScope() scope: OrgScope,
    @Param('agent_id') id: string,
    @Req() request: Request,
  ): Promise<object> {
    return this.agents.card(scope, id, () => knownBaseUrl(this.environment, request));
  }

  /**
   * Change an agent
   *
   * @remarks Each change creates a version.
   */
  @Patch(':agent_id')
  @RequireRoleSomewhere('editor')
  @ApiOkResponse({ type: AgentDto })
  patch(
    @CurrentScope() scope: OrgScope,
    @Param('agent_id') id: string,
    @Body() dto: PatchAgentDto,
    @IfMatch() ifMatch?: string,
  ): Promise<Versioned<AgentDto>> {
    return this.agents.patch(scope, id, dto, ifMatch);
  }

  /** List the versions of an agent */
  @Get(':agent_id/versions')
  @RequireRoleSomewhere('viewer', 'runtime')
  @ApiOkResponse({ type: AgentVersionPageDto })
  listVersions(
    @CurrentScope() scope: OrgScope,
    @Param('agent_id') id: string,
    @Query() query: OrderedListQueryDto,
  ): Promise<Page<AgentVersionDto>> {
    return this.agents.listVersions(scope, id, query);
  }

  /** Get a version of an agent */
  @Get(':agent_id/versions/:version_ordinal')
  @TakesVersionName()
  @RequireRoleSomewhere('viewer', 'runtime')
  @ApiOkResponse({ type: AgentVersionDto })
  getVersion(
    @CurrentScope() scope: OrgScope,
    @Param('agent_id') id: string,
    @Param('version_ordinal') version: string,
  ): Promise<Versioned<AgentVersionDto>> {
    return this.agents.getVersion(scope, id, pathVersion(version, 'agent version'));
  }

  /**
   * Delete a version of an agent
   *
   * @remarks Returns 409 for the newest version, and for one with labels. `force=true` also deletes the labels.
   */
  @DeleteRoute(':agent_id/versions/:version_ordinal')
  @TakesVersionName()
  @HttpCode(204)
  deleteVersion(
    @CurrentScope() scope: OrgScope,
    @Param('agent_id') id: string,
    @Param('version_ordinal') version: string,
    @Query() { force }: DeletionQueryDto,
    @IfMatch() ifMatch?: string,
  ): Promise<void> {
    return this.agents.deleteVersion(scope, id, pathVersion(version, 'agent version'), { force, ifMatch });
  }
}
