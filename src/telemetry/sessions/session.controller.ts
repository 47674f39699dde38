import { Controller, Get, Query } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { CurrentScope, RequireRole, RequireWorkspace, type Scope } from '#platform/auth';
import { RequestSignal } from '#platform/http';
import type { Page } from '#platform/paging';
import { type TraceDto, TracePageDto } from '../traces/trace.dto';
import { StartedListQueryDto } from '../traces/trace-query.dto';
import { SessionDto, SessionListQueryDto, SessionPageDto } from './session.dto';
import { NamesSession, SessionId } from './session-id.decorator';
import { SessionService } from './session.service';

@ApiTags('Sessions')
@Controller('telemetry/v1/sessions')
@RequireWorkspace()
export class SessionController {
  constructor(private readonly sessions: SessionService) {}

  /** List sessions, newest first by their last trace */
  @Get()
  @RequireRole('viewer')
  @ApiOkResponse({ type: SessionPageDto })
  list(
    @CurrentScope() scope: Scope,
    @Query() query: SessionListQueryDto,
    @RequestSignal() signal: AbortSignal,
  ): Promise<Page<SessionDto>> {
    return this.sessions.list(scope, query, signal);
  }

  /** Get a session */
  @Get(':session_id')
  @RequireRole('viewer')
  @NamesSession()
  @ApiOkResponse({ type: SessionDto })
  get(
    @CurrentScope() scope: Scope,
    @SessionId() sessionId: string,
    @RequestSignal() signal: AbortSignal,
  ): Promise<SessionDto> {
    return this.sessions.get(scope, sessionId, signal);
  }

  /** List a session's traces, newest first */
  @Get(':session_id/traces')
  @RequireRole('viewer')
  @NamesSession()
  @ApiOkResponse({ type: TracePageDto })
  listTraces(
    @CurrentScope() scope: Scope,
    @SessionId() sessionId: string,
    @Query() query: StartedListQueryDto,
    @RequestSignal() signal: AbortSignal,
  ): Promise<Page<TraceDto>> {
    return this.sessions.listTraces(scope, sessionId, query, signal);
  }
}
