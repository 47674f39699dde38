import { Body, Controller, Get, HttpCode, Param, Patch, Post, Query } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { CurrentScope, type OrgScope, RequireRoleSomewhere } from '#platform/auth';
import { created, IfMatch, pathNumber, type Reply, type Versioned } from '#platform/http';
import { OrderedListQueryDto, type Page } from '#platform/paging';
import {
  CreatesNamed,
  CreationQueryDto,
  DeleteRoute,
  DeletionQueryDto,
  LifecycleController,
} from '../../resources';
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
  constructor(private readonly agents: AgentService) {
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
  @RequireRoleSomewhere('viewer', 'runtime')
  @ApiOkResponse({ type: AgentVersionDto })
  getVersion(
    @CurrentScope() scope: OrgScope,
    @Param('agent_id') id: string,
    @Param('version_ordinal') ordinal: string,
  ): Promise<Versioned<AgentVersionDto>> {
    return this.agents.getVersion(scope, id, pathNumber(ordinal, 'agent version'));
  }

  /**
   * Delete a version of an agent
   *
   * @remarks Not the newest version (409).
   */
  @DeleteRoute(':agent_id/versions/:version_ordinal')
  @HttpCode(204)
  deleteVersion(
    @CurrentScope() scope: OrgScope,
    @Param('agent_id') id: string,
    @Param('version_ordinal') ordinal: string,
    @Query() { force }: DeletionQueryDto,
    @IfMatch() ifMatch?: string,
  ): Promise<void> {
    return this.agents.deleteVersion(scope, id, pathNumber(ordinal, 'agent version'), { force, ifMatch });
  }
}
