import { Body, Controller, Get, Param, Patch, Post, Query } from '@nestjs/common';
import { ApiCreatedResponse, ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { CurrentScope, type OrgScope, RequireRoleSomewhere } from '#platform/auth';
import { created, ETAG_HEADER, IfMatch, type Reply, RequestSignal, type Versioned } from '#platform/http';
import type { Page } from '#platform/paging';
import { LifecycleController } from '../../resources';
import { SessionTraceListQueryDto, type ScoredTraceDto, ScoredTracePageDto } from '../../telemetry';
import {
  AgentSessionDto,
  AgentSessionListQueryDto,
  AgentSessionPageDto,
  CreateSessionDto,
  PatchSessionDto,
} from './session.dto';
import { AgentSessionService } from './session.service';

@ApiTags('Agent sessions')
@Controller('agent/v1')
export class AgentSessionController extends LifecycleController({
  param: 'session_id',
  path: 'sessions/:session_id',
  view: AgentSessionDto,
  archive: { summary: 'Archive a session' },
  restore: { summary: 'Restore an archived session' },
  delete: { summary: 'Delete a session, with its messages' },
}) {
  constructor(private readonly sessions: AgentSessionService) {
    super(sessions);
  }

  /** Start a session with an agent */
  @Post('agents/:agent_id/sessions')
  @RequireRoleSomewhere('editor', 'runtime')
  @ApiCreatedResponse({ type: AgentSessionDto, headers: ETAG_HEADER })
  async create(
    @CurrentScope() scope: OrgScope,
    @Param('agent_id') agentId: string,
    @Body() dto: CreateSessionDto,
  ): Promise<Reply> {
    const session = await this.sessions.create(scope, agentId, dto);
    return created(`/agent/v1/sessions/${session.view.session_id}`, session);
  }

  /** List sessions */
  @Get('sessions')
  @RequireRoleSomewhere('viewer', 'runtime')
  @ApiOkResponse({ type: AgentSessionPageDto })
  list(
    @CurrentScope() scope: OrgScope,
    @Query() query: AgentSessionListQueryDto,
  ): Promise<Page<AgentSessionDto>> {
    return this.sessions.list(scope, query);
  }

  /** Get a session */
  @Get('sessions/:session_id')
  @RequireRoleSomewhere('viewer', 'runtime')
  @ApiOkResponse({ type: AgentSessionDto })
  get(@CurrentScope() scope: OrgScope, @Param('session_id') id: string): Promise<Versioned<AgentSessionDto>> {
    return this.sessions.get(scope, id);
  }

  /** Change the title, status or metadata of a session */
  @Patch('sessions/:session_id')
  @RequireRoleSomewhere('editor', 'runtime')
  @ApiOkResponse({ type: AgentSessionDto })
  patch(
    @CurrentScope() scope: OrgScope,
    @Param('session_id') id: string,
    @Body() dto: PatchSessionDto,
    @IfMatch() ifMatch?: string,
  ): Promise<Versioned<AgentSessionDto>> {
    return this.sessions.patch(scope, id, dto, ifMatch);
  }

  /** List the traces of a session, newest first */
  @Get('sessions/:session_id/traces')
  @RequireRoleSomewhere('viewer')
  @ApiOkResponse({ type: ScoredTracePageDto })
  listTraces(
    @CurrentScope() scope: OrgScope,
    @Param('session_id') id: string,
    @Query() query: SessionTraceListQueryDto,
    @RequestSignal() signal: AbortSignal,
  ): Promise<Page<ScoredTraceDto>> {
    return this.sessions.listTraces(scope, id, query, signal);
  }
}
