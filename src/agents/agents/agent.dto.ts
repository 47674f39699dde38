import { ApiProperty, OmitType } from '@nestjs/swagger';
import { IsOptional, IsString } from 'class-validator';
import { AnyJsonObject, IsJsonObject, ReadOnlyMembersOf, viewOf, IsImmutable } from '#platform/http';
import { PageOf } from '#platform/paging';
import {
  IsFilter,
  IsName,
  LabelledDto,
  type Labels,
  OwnedListQueryDto,
  sortedLabels,
  UNVERSIONED_MEMBERS,
} from '../../resources';
import {
  AgentFieldsDto,
  AgentSkillDto,
  AgentSkillInputDto,
  AgentToolDto,
  IsSkills,
  IsTools,
} from './agent-fields.dto';
import type { AgentContent } from './agent.entity';

@ReadOnlyMembersOf(() => AgentDto)
export class CreateAgentDto extends AgentFieldsDto {
  @IsString()
  workspace_id!: string;

  /** Unique among the workspace's agents that are not archived. Immutable. */
  @IsName()
  name!: string;

  /** Tools of MCP servers of the workspace. */
  @IsOptional()
  @IsTools()
  tools?: AgentToolDto[] | null;

  /** Skills of the workspace. */
  @IsOptional()
  @IsSkills()
  skills?: AgentSkillInputDto[] | null;
}

/** A merge patch (RFC 7396). `tools`, `skills` and `required_permissions` are replaced whole, and null empties them. */
@ReadOnlyMembersOf(() => AgentDto)
export class PatchAgentDto extends AgentFieldsDto {
  @IsImmutable('Must be the current workspace, because an agent cannot be moved (422).')
  workspace_id?: string;

  @IsImmutable()
  agent_id?: string;

  @IsImmutable()
  name?: string;

  @IsOptional()
  @IsTools()
  tools?: AgentToolDto[] | null;

  @IsOptional()
  @IsSkills()
  skills?: AgentSkillInputDto[] | null;

  @IsOptional()
  @IsJsonObject({ nullable: true, description: 'Merged into the current metadata. Null clears it.' })
  declare metadata?: object | null;
}

export class AgentListQueryDto extends OwnedListQueryDto {
  /** Words or word prefixes in the name, the display name or the description. */
  @IsFilter(1000)
  q?: string;
}

/** An agent with the content of its newest version. */
export class AgentDto extends LabelledDto {
  agent_id!: string;
  display_name!: string | null;
  description!: string | null;
  model!: string | null;
  instructions!: string;
  tools!: AgentToolDto[];
  skills!: AgentSkillDto[];
  required_permissions!: string[];
  @ApiProperty({ type: 'integer', format: 'int32', minimum: 1 })
  max_step_count!: number;
  @AnyJsonObject()
  metadata!: object;
  /** The members of its A2A card that are set. `GET …/card` returns the complete card. */
  @AnyJsonObject()
  card!: object;
}

export class AgentPageDto extends PageOf(AgentDto) {}

/** A version of an agent. Versions never change. */
export class AgentVersionDto extends OmitType(AgentDto, [...UNVERSIONED_MEMBERS, 'labels', 'org_id']) {
  /** Numbered from 1. Deleted versions leave gaps. */
  @ApiProperty({ type: 'integer', format: 'int32', minimum: 1 })
  override version_ordinal!: number;
  /** The principal that made the change. */
  override created_by!: string;
}

export class AgentVersionPageDto extends PageOf(AgentVersionDto) {}

/** Restores the order of the members of references, because PostgreSQL may return another. */
const references = (row: AgentContent): Pick<AgentContent, 'tools' | 'skills'> => ({
  tools: row.tools.map(({ server_id, tool_name }) => ({ server_id, tool_name })),
  skills: row.skills.map(({ skill_id, version_ordinal }) => ({ skill_id, version_ordinal })),
});

export const toAgentDto = viewOf(AgentDto, (row: AgentContent & { labels: Labels }) => ({
  ...references(row),
  labels: sortedLabels(row.labels),
}));

export const toAgentVersionDto = viewOf(AgentVersionDto, references);
