import { ApiProperty } from '@nestjs/swagger';
import { IsInt, IsOptional, IsString, Length, Max, MaxLength, Min } from 'class-validator';
import {
  AnyJsonObject,
  IsJsonObject,
  IsOneOf,
  METADATA_MAX_BYTES,
  NotNull,
  ValuesCheckedLater,
} from '#platform/http';
import { BY_CHANGE, CreatedListQueryDto, PageMetaDto, SortedBy } from '#platform/paging';
import { IsName } from '../../registry';
import { type AgentSessionEntity, SESSION_STATUSES, type SessionStatus } from './session.entity';

const PROMPT_MAX = 1_000_000;

export class CreateSessionDto {
  /** What the session begins with: its first message, of the role `user`. Kept as it is sent, with its line breaks. */
  @IsString()
  @Length(1, PROMPT_MAX)
  prompt!: string;

  @IsOptional()
  @IsName()
  title?: string | null;

  /** The version of the agent that it is held to; the present one unless given. */
  @IsOptional()
  @IsInt()
  @Min(1)
  @Max(2 ** 31 - 1)
  @ApiProperty({ type: 'integer', format: 'int32', minimum: 1, nullable: true, required: false })
  version_ordinal?: number | null;

  @IsOptional()
  @IsJsonObject({ maxBytes: METADATA_MAX_BYTES, description: 'Free-form, at most 16 KiB as JSON.' })
  metadata?: object | null;
}

/** A merge patch (RFC 7396). */
@ValuesCheckedLater()
export class PatchSessionDto {
  /** Only the present one: a session cannot be moved (422). */
  @NotNull()
  @IsString()
  workspace_id?: string;

  /** Only the present one (422 `immutable_field`), as of `agent_id` and `prompt`. */
  @NotNull()
  @IsString()
  session_id?: string;

  @NotNull()
  @IsString()
  agent_id?: string;

  @NotNull()
  @IsString()
  prompt?: string;

  @IsOptional()
  @IsName()
  title?: string | null;

  /** A session that is not `active` takes no messages; it can be made active again. */
  @NotNull()
  @IsOneOf(SESSION_STATUSES, { required: false })
  session_status?: SessionStatus;

  @IsOptional()
  @IsJsonObject({ nullable: true, description: 'Merged into the present metadata; null empties it.' })
  metadata?: object | null;
}

@SortedBy(...Object.keys(BY_CHANGE))
export class AgentSessionListQueryDto extends CreatedListQueryDto {
  /** Those of this workspace. */
  @NotNull()
  @IsString()
  @MaxLength(255)
  workspace_id?: string;

  /** Those with this agent. */
  @NotNull()
  @IsString()
  @MaxLength(255)
  agent_id?: string;

  @NotNull()
  @IsOneOf(SESSION_STATUSES, { required: false })
  session_status?: SessionStatus;
}

/** A conversation with an agent. */
export class AgentSessionDto {
  session_id!: string;
  org_id!: string;
  workspace_id!: string;
  agent_id!: string;
  /** The version of the agent when the session began. */
  @ApiProperty({ type: 'integer', format: 'int32', minimum: 1 })
  version_ordinal!: number;
  title!: string | null;
  prompt!: string;
  @ApiProperty({ enum: SESSION_STATUSES })
  session_status!: SessionStatus;
  @ApiProperty({ type: 'integer', format: 'int32', minimum: 1 })
  message_count!: number;
  last_message_at!: Date;
  @AnyJsonObject()
  metadata!: object;
  /** Raised by every change and every message; the ETag. */
  @ApiProperty({ type: 'integer', format: 'int32', minimum: 1 })
  generation!: number;
  created_at!: Date;
  updated_at!: Date;
  created_by!: string;
  archived_at!: Date | null;
}

export class AgentSessionPageDto {
  items!: AgentSessionDto[];
  page!: PageMetaDto;
}

export const toAgentSessionDto = (row: AgentSessionEntity): AgentSessionDto => ({
  session_id: row.session_id,
  org_id: row.org_id,
  workspace_id: row.workspace_id,
  agent_id: row.agent_id,
  version_ordinal: row.version_ordinal,
  title: row.title,
  prompt: row.prompt,
  session_status: row.session_status,
  message_count: row.message_count,
  last_message_at: row.last_message_at,
  metadata: row.metadata,
  generation: row.generation,
  created_at: row.created_at,
  updated_at: row.updated_at,
  created_by: row.created_by,
  archived_at: row.archived_at,
});
