import { Body, Controller, Get, Param, Post, Query } from '@nestjs/common';
import { ApiCreatedResponse, ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { CurrentScope, type OrgScope, RequireRoleSomewhere } from '#platform/auth';
import { created, type Reply, RequestSignal } from '#platform/http';
import type { Page } from '#platform/paging';
import { CreateMessageDto, MessageDto, MessageListQueryDto, MessagePageDto } from './message.dto';
import { DeleteRoute } from '../../resources';
import { MessageService } from './message.service';

@ApiTags('Agent sessions')
@Controller('agent/v1/sessions/:session_id/messages')
export class MessageController {
  constructor(private readonly messages: MessageService) {}

  /** Add a message to a session */
  @Post()
  @RequireRoleSomewhere('editor', 'runtime')
  @ApiCreatedResponse({ type: MessageDto })
  async create(
    @CurrentScope() scope: OrgScope,
    @Param('session_id') sessionId: string,
    @Body() dto: CreateMessageDto,
    @RequestSignal() signal: AbortSignal,
  ): Promise<Reply> {
    const view = await this.messages.create(scope, sessionId, dto, signal);
    return created(`/agent/v1/sessions/${sessionId}/messages/${view.message_id}`, view);
  }

  /** List the messages of a session, in order */
  @Get()
  @RequireRoleSomewhere('viewer', 'runtime')
  @ApiOkResponse({ type: MessagePageDto })
  list(
    @CurrentScope() scope: OrgScope,
    @Param('session_id') sessionId: string,
    @Query() query: MessageListQueryDto,
  ): Promise<Page<MessageDto>> {
    return this.messages.list(scope, sessionId, query);
  }

  /** Get a message of a session */
  @Get(':message_id')
  @RequireRoleSomewhere('viewer', 'runtime')
  @ApiOkResponse({ type: MessageDto })
  get(
    @CurrentScope() scope: OrgScope,
    @Param('session_id') sessionId: string,
    @Param('message_id') messageId: string,
  ): Promise<MessageDto> {
    return this.messages.get(scope, sessionId, messageId);
  }

  /**
   * Delete a message of a session
   *
   * @remarks Not the first message, which is the session's `prompt` (409).
   */
  @DeleteRoute(':message_id')
  delete(
    @CurrentScope() scope: OrgScope,
    @Param('session_id') sessionId: string,
    @Param('message_id') messageId: string,
  ): Promise<void> {
    return this.messages.delete(scope, sessionId, messageId);
  }
}
