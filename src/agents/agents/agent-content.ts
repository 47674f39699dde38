import { patchMetadata } from '#platform/http';
import { toJsonText, toRawJson } from '#platform/json';
import type { CreateAgentDto, PatchAgentDto } from './agent.dto';
import { type AgentContent, type AgentSkill, type AgentTool, CONTENT_MEMBERS } from './agent.entity';
import {
  type AgentFieldsDto,
  type AgentSkillDto,
  type AgentToolDto,
  STEPS_DEFAULT,
} from './agent-fields.dto';

/** What a new agent, or one that an app declares, is made of. */
export const contentOf = (dto: AgentFieldsDto & Pick<CreateAgentDto, 'tools' | 'skills'>): AgentContent => ({
  display_name: dto.display_name ?? null,
  description: dto.description ?? null,
  model: dto.model ?? null,
  instructions: dto.instructions ?? '',
  tools: toolsOf(dto.tools),
  skills: skillsOf(dto.skills),
  required_permissions: dto.required_permissions ?? [],
  max_step_count: dto.max_step_count ?? STEPS_DEFAULT,
  metadata: toRawJson(dto.metadata ?? {}),
});

/** What a patch makes of an agent. */
export const patchedContent = (row: AgentContent, dto: PatchAgentDto): AgentContent => ({
  display_name: dto.display_name === undefined ? row.display_name : dto.display_name,
  description: dto.description === undefined ? row.description : dto.description,
  model: dto.model === undefined ? row.model : dto.model,
  instructions: dto.instructions === undefined ? row.instructions : (dto.instructions ?? ''),
  tools: dto.tools === undefined ? row.tools : toolsOf(dto.tools),
  skills: dto.skills === undefined ? row.skills : skillsOf(dto.skills),
  required_permissions:
    dto.required_permissions === undefined ? row.required_permissions : (dto.required_permissions ?? []),
  max_step_count:
    dto.max_step_count === undefined ? row.max_step_count : (dto.max_step_count ?? STEPS_DEFAULT),
  metadata: dto.metadata === undefined ? row.metadata : patchMetadata(row.metadata, dto.metadata),
});

/** The members that differ; null where none does. */
export function changedContent(row: AgentContent, content: AgentContent): Partial<AgentContent> | null {
  const changed = CONTENT_MEMBERS.filter((member) => textOf(row[member]) !== textOf(content[member]));
  if (changed.length === 0) return null;
  return Object.fromEntries(changed.map((member) => [member, content[member]]));
}

/** References as the database has them may have their members in another order. */
const textOf = (value: AgentContent[keyof AgentContent]): string =>
  toJsonText(isReferences(value) ? value.map(ordered) : value);

const isReferences = (value: unknown): value is (AgentTool | AgentSkill)[] =>
  Array.isArray(value) && typeof value[0] === 'object';

const ordered = (one: AgentTool | AgentSkill): (string | number | null)[] =>
  'server_id' in one ? [one.server_id, one.tool_name] : [one.skill_id, one.version_ordinal];

const toolsOf = (tools: readonly AgentToolDto[] | null | undefined): AgentTool[] =>
  (tools ?? []).map(({ server_id, tool_name }) => ({ server_id, tool_name }));

const skillsOf = (skills: readonly AgentSkillDto[] | null | undefined): AgentSkill[] =>
  (skills ?? []).map(({ skill_id, version_ordinal }) => ({
    skill_id,
    version_ordinal: version_ordinal ?? null,
  }));
