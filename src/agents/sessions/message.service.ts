import { Injectable } from '@nestjs/common';
import type { OrgScope } from '#platform/auth';
import { Batches } from '#platform/concurrency';
import { toRawJson } from '#platform/json';
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
import type { SessionMessageEntity } from './message.entity';
import { SESSION_WRITERS } from './session.entity';
import { AgentSessionService } from './session.service';

/** Attempts at a message while its session is reopened. */
const ATTEMPTS = 3;

/** Messages that are added together, at most, and the length of the JSON of each, at most. */
const MESSAGES_TOGETHER = 64;
const LENGTH_TOGETHER = 64 * 1024;

interface NewMessage {
  scope: OrgScope;
  /** Those in which the caller may write, or null for all of the organization. */
  workspaceIds: readonly string[] | null;
  sessionId: string;
  dto: CreateMessageDto;
}

/** The messages of sessions. */
@Injectable()
export class MessageService {
  /** Messages that arrive at the same time for a session. They would wait for its row until each other's commit. */
  private readonly single = new Batches<NewMessage, SessionMessageEntity | null>({
    run: (_, messages) => this.append(messages),
    max: MESSAGES_TOGETHER,
    takesTurns: true,
  });

  constructor(
    private readonly sessions: AgentSessionService,
    private readonly messages: MessageRepository,
  ) {}

  /** Adds a message at the end of a session. Errors: those of `AgentSessionService.checkTakesMessages`. */
  async create(scope: OrgScope, sessionId: string, dto: CreateMessageDto): Promise<MessageDto> {
    const workspaceIds = readableWorkspaces(scope, SESSION_WRITERS);
    const message = { scope, workspaceIds, sessionId, dto };
    const key = [scope.orgId, scope.principalId, sessionId, ...(workspaceIds ?? ['*'])].join('\n');
    const isSmall = toRawJson([dto.content, dto.tool_calls ?? null]).text.length <= LENGTH_TOGETHER;
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const row = isSmall ? await this.single.add(key, message) : (await this.append([message]))[0];
      if (row) return toMessageDto(row);
      await this.sessions.checkTakesMessages(scope, sessionId);
    }
    throw problem.conflict('The session changed during the request. Try again.');
  }

  /** Adds messages of one caller to one session. If they cannot be added together, it adds each by itself. */
  private async append(messages: readonly NewMessage[]): Promise<(SessionMessageEntity | null)[]> {
    const { scope, workspaceIds, sessionId } = messages[0]!;
    const dtos = messages.map(({ dto }) => dto);
    const appended = this.messages.append(scope, workspaceIds, sessionId, dtos);
    if (messages.length === 1) return [(await appended)[0] ?? null];
    const rows = await appended.catch(() => null);
    if (rows) return messages.map((_, index) => rows[index] ?? null);
    return (await Promise.all(messages.map((one) => this.append([one])))).flat();
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
