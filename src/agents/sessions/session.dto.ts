import { ApiProperty } from '@nestjs/swagger';
import { IsOptional } from 'class-validator';
import {
  AnyJsonObject,
  IsOneOf,
  NotNull,
  ValuesCheckedLater,
  ReadOnlyMembersOf,
  viewOf,
  IsImmutable,
  IsOptionalText,
  IsText,
} from '#platform/http';
import { BY_CHANGE, NamedListQueryDto, PageOf, SortedBy } from '#platform/paging';
import {
  IsFilter,
  IsName,
  IsVersionName,
  MetadataBodyDto,
  MetadataPatchDto,
  PlacedDto,
  type VersionName,
} from '../../resources';
import { SESSION_STATUSES, type SessionStatus } from './session.entity';

const PROMPT_MAX = 1_000_000;

@ReadOnlyMembersOf(() => AgentSessionDto)
export class CreateSessionDto extends MetadataBodyDto {
  /** The first message of the session, with the role `user`. Stored as sent, with its line breaks. */
  @IsText(PROMPT_MAX)
  prompt!: string;

  @IsOptional()
  @IsName()
  title?: string | null;

  /**
   * The version of the agent to pin the session to: its number, a label, or `latest`, which is the default. A label that moves
   * later changes nothing.
   */
  @IsOptional()
  @IsVersionName()
  version_ordinal?: VersionName | null;
}

/** A merge patch (RFC 7396). */
@ValuesCheckedLater()
@ReadOnlyMembersOf(() => AgentSessionDto)
export class PatchSessionDto extends MetadataPatchDto {
  @IsImmutable('Must be the current workspace, because a session cannot be moved (422).')
  workspace_id?: string;

  @IsImmutable('Immutable (422 for another value). The same applies to `agent_id` and `prompt`.')
  session_id?: string;

  @IsOptionalText()
  agent_id?: string;

  @IsOptionalText()
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
export class AgentSessionListQueryDto extends NamedListQueryDto {
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
  /** True if the agent, or this version of it, was deleted, else absent. */
  agent_erased?: boolean;
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

export class AgentSessionPageDto extends PageOf(AgentSessionDto) {}

export const toAgentSessionDto = viewOf(AgentSessionDto);
