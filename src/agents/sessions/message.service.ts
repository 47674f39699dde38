import { Injectable } from '@nestjs/common';
import type { OrgScope } from '#platform/auth';
import { Database } from '#platform/db';
import type { Page } from '#platform/paging';
import { problem } from '#platform/problem';
import { checkLive } from '../../registry';
import {
  type CreateMessageDto,
  type MessageDto,
  type MessageListQueryDto,
  toMessageDto,
} from './message.dto';
import { MessageRepository } from './message.repository';
import { newMessage } from './new-message';
import { AgentSessionRepository } from './session.repository';
import { AgentSessionService } from './session.service';
import { SESSION } from './session-access';

/** What is said in sessions. */
@Injectable()
export class MessageService {
  constructor(
    private readonly database: Database,
    private readonly sessions: AgentSessionService,
    private readonly counts: AgentSessionRepository,
    private readonly messages: MessageRepository,
  ) {}

  /**
   * Adds a message at the end: of several writers, one after the other, each at its own place. Errors: 404, 403, 409 when
   * the session is not active, or it or its workspace is archived.
   */
  create(scope: OrgScope, sessionId: string, dto: CreateMessageDto): Promise<MessageDto> {
    return this.database.transaction(async (tx) => {
      const session = await this.sessions.lock(tx, scope, sessionId);
      checkLive(session, SESSION);
      if (session.session_status !== 'active') {
        throw problem.conflict(
          `The session is ${session.session_status} and takes no messages; make it active first.`,
        );
      }
      const now = new Date();
      const ordinal = await this.counts.countMessage(tx, scope, sessionId, now);
      const row = newMessage(scope, session, ordinal, dto, now);
      await this.messages.insert(tx, row);
      return toMessageDto(row);
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
