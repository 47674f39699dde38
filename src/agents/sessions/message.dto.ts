import { ApiProperty } from '@nestjs/swagger';
import { ArrayMaxSize, IsArray, IsOptional, Matches } from 'class-validator';
import {
  AnyJson,
  IsJson,
  KeepsJson,
  IsOneOf,
  NotNull,
  ReadOnlyMembersOf,
  viewOf,
  IsNullableText,
} from '#platform/http';
import { OrderedListQueryDto, PageOf } from '#platform/paging';
import { StampsDto } from '../../resources';
import { TRACE_ID } from '../../telemetry';
import { MESSAGE_ROLES, type MessageRole, type SessionMessageEntity } from './message.entity';

const TOOL_CALLS_MAX = 1_000;

@ReadOnlyMembersOf(() => MessageDto)
export class CreateMessageDto {
  @IsOneOf(MESSAGE_ROLES)
  role!: MessageRole;

  @IsJson({ description: 'The content: a string or any other JSON value. Stored as sent.' })
  content!: unknown;

  /** The trace of the turn that the message belongs to. */
  @IsOptional()
  @Matches(TRACE_ID, { message: 'must be 32 lower-case hexadecimal digits, not all zeros' })
  @ApiProperty({ type: 'string', pattern: '^(?!0{32})[0-9a-f]{32}$', nullable: true, required: false })
  trace_id?: string | null;

  /** The tool calls that the message requests. Each is any JSON value. */
  @IsOptional()
  @KeepsJson()
  @IsArray()
  @ArrayMaxSize(TOOL_CALLS_MAX)
  @ApiProperty({ type: 'array', items: {}, maxItems: TOOL_CALLS_MAX, nullable: true, required: false })
  tool_calls?: unknown[] | null;

  /** For the role `tool`: the id, within `tool_calls`, of the call that this message responds to. */
  @IsNullableText(255)
  tool_call_id?: string | null;

  /** The name of the speaker, such as the tool that responds, or one of several people or agents. */
  @IsNullableText(255)
  name?: string | null;
}

/** Messages are never archived. */
export class MessageListQueryDto extends OrderedListQueryDto {
  /** Only messages with this role. */
  @NotNull()
  @IsOneOf(MESSAGE_ROLES, { required: false })
  role?: MessageRole;
}

/** A message of a session. Messages never change. */
export class MessageDto extends StampsDto {
  message_id!: string;
  session_id!: string;
  org_id!: string;
  workspace_id!: string;
  /** The position in the session, from 1. Deleted messages leave gaps. */
  @ApiProperty({ type: 'integer', format: 'int32', minimum: 1 })
  ordinal!: number;
  @ApiProperty({ enum: MESSAGE_ROLES })
  role!: MessageRole;
  @AnyJson()
  content!: unknown;
  trace_id!: string | null;
  @ApiProperty({ type: 'array', items: {}, nullable: true })
  tool_calls!: unknown;
  tool_call_id!: string | null;
  name!: string | null;
  @ApiProperty({
    type: 'null',
    nullable: false,
    description: 'Always null, because a message cannot be archived on its own.',
  })
  declare archived_at: null;
}

export class MessagePageDto extends PageOf(MessageDto) {}

export const toMessageDto = viewOf(MessageDto, (row: SessionMessageEntity) => ({
  updated_at: row.created_at,
  archived_at: null,
}));
