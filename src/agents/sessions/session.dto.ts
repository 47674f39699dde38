import { ApiProperty } from '@nestjs/swagger';
import { IsInt, IsOptional, IsString, Length, Max, Min } from 'class-validator';
import {
  AnyJsonObject,
  IsOneOf,
  NotNull,
  ValuesCheckedLater,
  ReadOnlyMembersOf,
  viewOf,
} from '#platform/http';
import { BY_CHANGE, CreatedListQueryDto, PageMetaDto, SortedBy } from '#platform/paging';
import { IsFilter, IsName, MetadataBodyDto, MetadataPatchDto, PlacedDto } from '../../resources';
import { SESSION_STATUSES, type SessionStatus } from './session.entity';

const PROMPT_MAX = 1_000_000;

@ReadOnlyMembersOf(() => AgentSessionDto)
export class CreateSessionDto extends MetadataBodyDto {
  /** The first message of the session, with the role `user`. Stored as sent, with its line breaks. */
  @IsString()
  @Length(1, PROMPT_MAX)
  prompt!: string;

  @IsOptional()
  @IsName()
  title?: string | null;

  /** The version of the agent that the session is pinned to. Defaults to the newest. */
  @IsOptional()
  @IsInt()
  @Min(1)
  @Max(2 ** 31 - 1)
  @ApiProperty({ type: 'integer', format: 'int32', minimum: 1, nullable: true, required: false })
  version_ordinal?: number | null;
}

/** A merge patch (RFC 7396). */
@ValuesCheckedLater()
@ReadOnlyMembersOf(() => AgentSessionDto)
export class PatchSessionDto extends MetadataPatchDto {
  /** Must be the current workspace, because a session cannot be moved (422). */
  @NotNull()
  @IsString()
  workspace_id?: string;

  /** Must be the current value (422 `immutable_field`). The same applies to `agent_id` and `prompt`. */
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

  /** Only an `active` session accepts messages. You can set a session back to `active`. */
  @NotNull()
  @IsOneOf(SESSION_STATUSES, { required: false })
  session_status?: SessionStatus;
}

@SortedBy(...Object.keys(BY_CHANGE))
export class AgentSessionListQueryDto extends CreatedListQueryDto {
  /** Only sessions of this workspace. */
  @IsFilter()
  workspace_id?: string;

  /** Only sessions with this agent. */
  @IsFilter()
  agent_id?: string;

  @NotNull()
  @IsOneOf(SESSION_STATUSES, { required: false })
  session_status?: SessionStatus;
}

/** A conversation with an agent. Every message also increases its `generation`. */
export class AgentSessionDto extends PlacedDto {
  session_id!: string;
  agent_id!: string;
  /** The version of the agent that the session is pinned to. */
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
}

export class AgentSessionPageDto {
  items!: AgentSessionDto[];
  page!: PageMetaDto;
}

export const toAgentSessionDto = viewOf(AgentSessionDto);
