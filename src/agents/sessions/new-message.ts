import type { OrgScope } from '#platform/auth';
import { newId } from '#platform/ids';
import { toRawJson } from '#platform/json';
import type { CreateMessageDto } from './message.dto';
import type { SessionMessageEntity } from './message.entity';
import type { AgentSessionEntity } from './session.entity';

/** A message at its place in a session. */
export const newMessage = (
  scope: OrgScope,
  session: Pick<AgentSessionEntity, 'session_id' | 'workspace_id'>,
  ordinal: number,
  dto: CreateMessageDto,
  at: Date = new Date(),
): SessionMessageEntity => ({
  session_id: session.session_id,
  ordinal,
  message_id: newId('msg'),
  org_id: scope.orgId,
  workspace_id: session.workspace_id,
  role: dto.role,
  content: toRawJson(dto.content),
  tool_calls: dto.tool_calls ? toRawJson(dto.tool_calls) : null,
  tool_call_id: dto.tool_call_id ?? null,
  name: dto.name ?? null,
  trace_id: dto.trace_id ?? null,
  created_at: at,
  created_by: scope.principalId,
});
