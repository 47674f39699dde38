import { Injectable } from '@nestjs/common';
import type { OrgScope } from '#platform/auth';
import { Batcher, inSlices, LoadingCache, SMALL_WRITES } from '#platform/concurrency';
import { toRawJson } from '#platform/json';
import { type Page, toPage } from '#platform/paging';
import { isDataError, orNotFound, problem } from '#platform/problem';
import { WorkspaceMasking } from '../../registry';
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

/** The maximum number of attempts to add a message, because its session may be reopened in between. */
const ATTEMPTS = 3;

/** How long, and for how many sessions, a process remembers the workspace. */
const SESSION_CACHE_MS = 60_000;
const SESSION_CACHE_MAX = 10_000;

interface NewMessage {
  scope: OrgScope;
  /** The workspaces in which the caller may write, or null for all of the organization. */
  workspaceIds: readonly string[] | null;
  sessionId: string;
  dto: CreateMessageDto;
}

/** The messages of sessions. */
@Injectable()
export class MessageService {
  /** Combines small messages to one session, because separate writes would queue for the lock of the session's row. */
  private readonly smallWrites = new Batcher<NewMessage, SessionMessageEntity | null>({
    run: (messages) => this.append(messages),
    max: SMALL_WRITES.max,
    isSequential: true,
    isWriting: true,
    isOfOneItem: isDataError,
  });

  /** The workspaces of sessions, which never change. */
  private readonly workspaces = new LoadingCache<string | null>({
    lifetimeMs: (workspaceId) => (workspaceId === null ? 0 : SESSION_CACHE_MS),
    max: SESSION_CACHE_MAX,
  });

  constructor(
    private readonly sessions: AgentSessionService,
    private readonly messages: MessageRepository,
    private readonly masking: WorkspaceMasking,
  ) {}

  /** Appends a message to a session. Errors: those of `AgentSessionService.checkAcceptsMessages`. */
  async create(
    scope: OrgScope,
    sessionId: string,
    dto: CreateMessageDto,
    signal: AbortSignal,
  ): Promise<MessageDto> {
    await this.mask(scope, sessionId, dto);
    const workspaceIds = readableWorkspaces(scope, SESSION_WRITERS);
    const message = { scope, workspaceIds, sessionId, dto };
    const key = [scope.orgId, scope.principalId, sessionId, workspaceIds];
    const isSmall = toRawJson([dto.content, dto.tool_calls ?? null]).text.length <= SMALL_WRITES.length;
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const row = isSmall
        ? await this.smallWrites.add(key, message, signal)
        : (await this.append([message]))[0];
      if (row) return toMessageDto(row);
      await this.sessions.checkAcceptsMessages(scope, sessionId);
    }
    throw problem.conflict('The session changed during the request. Try again.');
  }

  /** Masks the texts of a message. Errors: those of `AgentSessionService.checkAcceptsMessages`. */
  private async mask(scope: OrgScope, sessionId: string, dto: CreateMessageDto): Promise<void> {
    const { orgId } = scope;
    const workspaceId = await this.workspaces.find(`${orgId} ${sessionId}`, () =>
      this.messages.findWorkspace(scope, sessionId),
    );
    if (workspaceId === null) {
      await this.sessions.checkAcceptsMessages(scope, sessionId);
      return this.mask(scope, sessionId, dto);
    }
    const masking = await this.masking.start({ orgId, workspaceId });
    if (!masking) return;
    dto.content = await inSlices(masking.json(dto.content, 'content'));
    dto.tool_calls = await inSlices(masking.json(dto.tool_calls, 'tool_calls'));
  }

  /** Adds messages of one caller to one session. Returns null for each if the session does not accept messages. */
  private async append(messages: readonly NewMessage[]): Promise<(SessionMessageEntity | null)[]> {
    const { scope, workspaceIds, sessionId } = messages[0]!;
    const dtos = messages.map(({ dto }) => dto);
    const rows = await this.messages.append(scope, workspaceIds, sessionId, dtos);
    return messages.map((_, index) => rows[index] ?? null);
  }

  async list(scope: OrgScope, sessionId: string, query: MessageListQueryDto): Promise<Page<MessageDto>> {
    await this.sessions.find(scope, sessionId);
    return toPage(await this.messages.list(scope, sessionId, query), toMessageDto);
  }

  /** Errors: those of `AgentSessionService.deleteMessage`. */
  delete(scope: OrgScope, sessionId: string, messageId: string): Promise<void> {
    return this.sessions.deleteMessage(scope, sessionId, messageId);
  }

  async get(scope: OrgScope, sessionId: string, messageId: string): Promise<MessageDto> {
    await this.sessions.find(scope, sessionId);
    const row = await this.messages.find(scope, sessionId, messageId);
    return toMessageDto(orNotFound(row, 'message', messageId));
  }
}
