import { ApiProperty } from '@nestjs/swagger';
import { IsOptional, IsString, MaxLength } from 'class-validator';
import { AnyJsonObject, IsJsonObject, IsOneOf, NotNull } from '#platform/http';
import { NamedListQueryDto, PageMetaDto } from '#platform/paging';
import { IsName, SYNC_STATES, type SyncState } from '../../registry';
import { AgentFieldsDto, AgentSkillDto, AgentToolDto, IsSkills, IsTools } from './agent-fields.dto';

export class CreateAgentDto extends AgentFieldsDto {
  @IsString()
  workspace_id!: string;

  /** Unique among the workspace's agents that are not archived. Can never change. */
  @IsName()
  name!: string;

  /** Tools of MCP servers of the workspace. */
  @IsOptional()
  @IsTools()
  tools?: AgentToolDto[] | null;

  /** Skills of the workspace. */
  @IsOptional()
  @IsSkills()
  skills?: AgentSkillDto[] | null;
}

/** A merge patch (RFC 7396); `tools`, `skills` and `required_permissions` are replaced whole, null empties them. */
export class PatchAgentDto extends AgentFieldsDto {
  /** Only the present one: an agent cannot be moved (422). */
  @NotNull()
  @IsString()
  workspace_id?: string;

  /** Only the present one (422 `immutable_field`). */
  @NotNull()
  @IsString()
  agent_id?: string;

  /** Only the present one (422 `immutable_field`). */
  @NotNull()
  @IsString()
  name?: string;

  @IsOptional()
  @IsTools()
  tools?: AgentToolDto[] | null;

  @IsOptional()
  @IsSkills()
  skills?: AgentSkillDto[] | null;

  @IsOptional()
  @IsJsonObject({ nullable: true, description: 'Merged into the present metadata; null empties it.' })
  declare metadata?: object | null;
}

export class AgentListQueryDto extends NamedListQueryDto {
  /** Those of this workspace. */
  @NotNull()
  @IsString()
  @MaxLength(255)
  workspace_id?: string;

  /** How they stand to the apps that declare them. */
  @NotNull()
  @IsOneOf(SYNC_STATES, { required: false })
  sync_state?: SyncState;

  /** Those that this app declares, by its slug or its id. */
  @NotNull()
  @IsString()
  @MaxLength(255)
  app?: string;

  /** Words of the name, the display name or the description; the last letters of each may be missing. */
  @NotNull()
  @IsString()
  @MaxLength(1000)
  q?: string;

  /** The name, exactly. */
  @NotNull()
  @IsString()
  @MaxLength(255)
  name?: string;
}

/** What a version of an agent is made of. */
class AgentContentDto {
  name!: string;
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
  /** The number of the version. */
  @ApiProperty({ type: 'integer', format: 'int32', minimum: 1 })
  version_ordinal!: number;
  version_id!: string;
}

/** An agent, as its newest version has it. */
export class AgentDto extends AgentContentDto {
  agent_id!: string;
  org_id!: string;
  workspace_id!: string;
  /** The app that declares it; null without one. */
  app!: string | null;
  /**
   * `unmanaged` without an app. `synced` as the app declares it; `pending` since the declaration was changed, `drifted` since
   * the agent was; `failed` where the last sweep could not apply the declaration.
   */
  @ApiProperty({ enum: SYNC_STATES })
  sync_state!: SyncState;
  /** Raised by every change; the ETag. */
  @ApiProperty({ type: 'integer', format: 'int32', minimum: 1 })
  generation!: number;
  created_at!: Date;
  updated_at!: Date;
  created_by!: string;
  archived_at!: Date | null;
}

export class AgentPageDto {
  items!: AgentDto[];
  page!: PageMetaDto;
}

/** An agent, as it was. Never changes. */
export class AgentVersionDto extends AgentContentDto {
  agent_id!: string;
  workspace_id!: string;
  created_at!: Date;
  /** Who made the change. */
  created_by!: string;
}

export class AgentVersionPageDto {
  items!: AgentVersionDto[];
  page!: PageMetaDto;
}
