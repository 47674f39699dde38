import { Injectable } from '@nestjs/common';
import type { OrgScope } from '#platform/auth';
import type { Page } from '#platform/paging';
import { problem } from '#platform/problem';
import { readableWorkspaces } from '../../resources';
import {
  type CreateMessageDto,
  type MessageDto,
  type MessageListQueryDto,
  toMessageDto,
} from './message.dto';
import { MessageRepository } from './message.repository';
import { SESSION_WRITERS } from './session.entity';
import { AgentSessionService } from './session.service';

/** Attempts at a message while its session is reopened. */
const ATTEMPTS = 3;

/** The messages of sessions. */
@Injectable()
export class MessageService {
  constructor(
    private readonly sessions: AgentSessionService,
    private readonly messages: MessageRepository,
  ) {}

  /** Adds a message at the end of a session. Errors: those of `AgentSessionService.checkTakesMessages`. */
  async create(scope: OrgScope, sessionId: string, dto: CreateMessageDto): Promise<MessageDto> {
    const workspaceIds = readableWorkspaces(scope, SESSION_WRITERS);
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const row = await this.messages.append(scope, workspaceIds, sessionId, dto);
      if (row) return toMessageDto(row);
      await this.sessions.checkTakesMessages(scope, sessionId);
    }
    throw problem.conflict('The session changed during the request. Try again.');
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
