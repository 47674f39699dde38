import { Controller, createParamDecorator, type ExecutionContext, Get, Query } from '@nestjs/common';
import { ApiOkResponse, ApiParam, ApiTags } from '@nestjs/swagger';
import { CurrentScope, RequireRole, RequireWorkspace, type Scope } from '#platform/auth';
import { RequestSignal, type ServiceRequest } from '#platform/http';
import type { Page } from '#platform/paging';
import { problem } from '#platform/problem';
import { isName, NAME_MAX } from '../span-mapping/field.parser';
import { type ScoredTraceDto, ScoredTracePageDto } from '../traces/trace.dto';
import { SessionTraceListQueryDto } from '../traces/trace-query.dto';
import { SessionDto, SessionListQueryDto, SessionPageDto } from './session.dto';
import { SessionService } from './session.service';
import { type TranscriptItemDto, TranscriptPageDto, TranscriptQueryDto } from './transcript.dto';
import { TranscriptService } from './transcript.service';

/**
 * Reads the session id from the path: any text of 1 to 255 characters, because agents choose the ids. Errors: 404 for
 * anything else.
 */
const SessionId = createParamDecorator((_: unknown, context: ExecutionContext): string => {
  const id = String(context.switchToHttp().getRequest<ServiceRequest>().params.session_id);
  if (!isName(id) || id.includes('\0')) throw problem.notFound('session');
  return id;
});

/** Documents the path parameter. */
const ApiSessionId = () =>
  ApiParam({
    name: 'session_id',
    description: 'The session id that the agent sends, percent-encoded.',
    schema: { type: 'string', minLength: 1, maxLength: NAME_MAX },
  });

@ApiTags('Sessions')
@Controller('telemetry/v1/sessions')
@RequireWorkspace()
export class SessionController {
  constructor(
    private readonly sessions: SessionService,
    private readonly transcripts: TranscriptService,
  ) {}

  /** List sessions by their last trace, newest first */
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
  @ApiSessionId()
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
  @ApiSessionId()
  @ApiOkResponse({ type: ScoredTracePageDto })
  listTraces(
    @CurrentScope() scope: Scope,
    @SessionId() sessionId: string,
    @Query() query: SessionTraceListQueryDto,
    @RequestSignal() signal: AbortSignal,
  ): Promise<Page<ScoredTraceDto>> {
    return this.sessions.listTraces(scope, sessionId, query, signal);
  }

  /** List a session's messages and tool calls, oldest first, each once */
  @Get(':session_id/transcript')
  @RequireRole('viewer')
  @ApiSessionId()
  @ApiOkResponse({ type: TranscriptPageDto })
  listTranscript(
    @CurrentScope() scope: Scope,
    @SessionId() sessionId: string,
    @Query() query: TranscriptQueryDto,
    @RequestSignal() signal: AbortSignal,
  ): Promise<Page<TranscriptItemDto>> {
    return this.transcripts.list(scope, sessionId, query, signal);
  }
}
