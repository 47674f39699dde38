import { Injectable } from '@nestjs/common';
import type { OrgScope } from '#platform/auth';
import { Database } from '#platform/db';
import type { Page } from '#platform/paging';
import { problem } from '#platform/problem';
import {
  type CreateMessageDto,
  type MessageDto,
  type MessageListQueryDto,
  toMessageDto,
} from './message.dto';
import { MessageRepository } from './message.repository';
import { AgentSessionService } from './session.service';

/** The messages of sessions. */
@Injectable()
export class MessageService {
  constructor(
    private readonly database: Database,
    private readonly sessions: AgentSessionService,
    private readonly messages: MessageRepository,
  ) {}

  /** Adds a message at the end of a session. Errors: those of `AgentSessionService.reserveMessage`. */
  create(scope: OrgScope, sessionId: string, dto: CreateMessageDto): Promise<MessageDto> {
    return this.database.transaction(async (tx) => {
      const at = new Date();
      const { session, ordinal } = await this.sessions.reserveMessage(tx, scope, sessionId, at);
      return toMessageDto(await this.messages.insert(tx, scope, session, ordinal, dto, at));
    });
  }

  async list(scope: OrgScope, sessionId: string, query: MessageListQueryDto): Promise<Page<MessageDto>> {
    await this.sessions.find(scope, sessionId);
    const { rows, page } = await this.messages.list(scope, sessionId, query);
    return { items: rows.map(toMessageDto), page };
  }

  async get(scope: OrgScope, sessionId: string, messageId: string): Promise<MessageDto> {
    await this.sessions.find(scope, sessionId);
    const row = await this.messages.find(scope, sessionId, messageId);
    if (!row) throw problem.notFound('message', messageId);
    return toMessageDto(row);
  }
}
