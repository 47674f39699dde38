import { mergeWithin, patchMetadata } from '#platform/http';
import { type RawJson, toRawJson } from '#platform/json';
import { type AgentFieldsDto, type AgentToolDto, STEPS_DEFAULT } from './agent-fields.dto';
import type { CreateAgentDto, PatchAgentDto } from './agent.dto';
import type { AgentContent, AgentSkill, AgentTool } from './agent.entity';

/** A body with the skills as they are stored. See `AgentReferences.withOrdinals`. */
type Resolved<Dto> = Omit<Dto, 'skills'> & { skills?: AgentSkill[] };

/** Returns the content of a new or declared agent. */
export const contentOf = (
  dto: AgentFieldsDto & Resolved<Pick<CreateAgentDto, 'tools' | 'skills'>>,
): AgentContent => ({
  display_name: dto.display_name ?? null,
  description: dto.description ?? null,
  model: dto.model ?? null,
  instructions: dto.instructions ?? '',
  tools: toolsOf(dto.tools ?? []),
  skills: dto.skills ?? [],
  required_permissions: dto.required_permissions ?? [],
  max_step_count: dto.max_step_count ?? STEPS_DEFAULT,
  metadata: toRawJson(dto.metadata ?? {}),
  card: toRawJson(dto.card ?? {}),
});

/** Returns the content that a patch sets. Undefined means unchanged. */
export const patchedContent = (row: AgentContent, dto: Resolved<PatchAgentDto>): Partial<AgentContent> => ({
  display_name: dto.display_name,
  description: dto.description,
  model: dto.model,
  instructions: dto.instructions === null ? '' : dto.instructions,
  tools: dto.tools === undefined ? undefined : toolsOf(dto.tools ?? []),
  skills: dto.skills,
  required_permissions: dto.required_permissions === null ? [] : dto.required_permissions,
  max_step_count: dto.max_step_count === null ? STEPS_DEFAULT : dto.max_step_count,
  metadata: patchMetadata(row.metadata, dto.metadata),
  card: patchedCard(row.card, dto.card),
});

const patchedCard = (stored: RawJson, patch: object | null | undefined): RawJson | undefined =>
  patch === null ? toRawJson({}) : patch && mergeWithin('/card', stored, patch);

const toolsOf = (tools: readonly AgentToolDto[]): AgentTool[] =>
  tools.map(({ server_id, tool_name }) => ({ server_id, tool_name }));
