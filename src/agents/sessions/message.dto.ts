import { ApiProperty } from '@nestjs/swagger';
import { ArrayMaxSize, IsArray, IsOptional, IsString, Length, Matches } from 'class-validator';
import { AnyJson, IsJson, IsOneOf, NotNull } from '#platform/http';
import { OrderedListQueryDto, PageMetaDto } from '#platform/paging';
import { TRACE_ID } from '../../telemetry';
import { MESSAGE_ROLES, type MessageRole, type SessionMessageEntity } from './message.entity';

const TOOL_CALLS_MAX = 1_000;

export class CreateMessageDto {
  @IsOneOf(MESSAGE_ROLES)
  role!: MessageRole;

  /** What was said: any JSON value, a text or parts as models have them. Kept as it is sent. */
  @IsJson({ description: 'What was said: a text, or any other JSON value. Kept as it is sent.' })
  content!: unknown;

  /** The trace of the turn that it is part of. */
  @IsOptional()
  @Matches(TRACE_ID, { message: 'must be 32 lower-case hexadecimal digits, not all zeros' })
  @ApiProperty({ type: 'string', pattern: '^(?!0{32})[0-9a-f]{32}$', nullable: true, required: false })
  trace_id?: string | null;

  /** The calls of tools that it asks for, each any JSON value. */
  @IsOptional()
  @IsArray()
  @ArrayMaxSize(TOOL_CALLS_MAX)
  @ApiProperty({ type: 'array', items: {}, maxItems: TOOL_CALLS_MAX, nullable: true, required: false })
  tool_calls?: unknown[] | null;

  /** Of a message of a tool: the id of the call that it answers, as `tool_calls` has it. */
  @IsOptional()
  @IsString()
  @Length(1, 255)
  tool_call_id?: string | null;

  /** Who speaks: the tool that answers, or one of several people or agents. */
  @IsOptional()
  @IsString()
  @Length(1, 255)
  name?: string | null;
}

/** Messages are never archived. */
export class MessageListQueryDto extends OrderedListQueryDto {
  /** Those of one role. */
  @NotNull()
  @IsOneOf(MESSAGE_ROLES, { required: false })
  role?: MessageRole;
}

/** Something that was said in a session. Never changes. */
export class MessageDto {
  message_id!: string;
  session_id!: string;
  org_id!: string;
  workspace_id!: string;
  /** Its place in the session: from 1, without gaps. */
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
  created_at!: Date;
  updated_at!: Date;
  created_by!: string;
  @ApiProperty({ type: 'null', description: 'Messages are not archived: their session is.' })
  archived_at!: null;
}

export class MessagePageDto {
  items!: MessageDto[];
  page!: PageMetaDto;
}

export const toMessageDto = (row: SessionMessageEntity): MessageDto => ({
  message_id: row.message_id,
  session_id: row.session_id,
  org_id: row.org_id,
  workspace_id: row.workspace_id,
  ordinal: row.ordinal,
  role: row.role,
  content: row.content,
  trace_id: row.trace_id,
  tool_calls: row.tool_calls,
  tool_call_id: row.tool_call_id,
  name: row.name,
  created_at: row.created_at,
  updated_at: row.created_at,
  created_by: row.created_by,
  archived_at: null,
});
