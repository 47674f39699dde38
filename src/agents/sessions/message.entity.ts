import { Column, Entity, PrimaryColumn } from 'typeorm';
import { JsonColumn } from '#platform/db';
import type { RawJson } from '#platform/json';

export const MESSAGE_ROLES = ['user', 'assistant', 'system', 'tool'] as const;
export type MessageRole = (typeof MESSAGE_ROLES)[number];

/** A message of a session. Messages never change. */
@Entity('session_messages')
export class SessionMessageEntity {
  @PrimaryColumn('text')
  session_id!: string;

  /** The position in the session, from 1, in the order of acceptance. Deleted messages leave gaps. */
  @PrimaryColumn('integer')
  ordinal!: number;

  @Column('text')
  message_id!: string;

  @Column('text')
  org_id!: string;

  @Column('text')
  workspace_id!: string;

  @Column('text')
  role!: MessageRole;

  /** Any JSON value. */
  @JsonColumn()
  content!: RawJson;

  @JsonColumn({ nullable: true })
  tool_calls!: RawJson | null;

  /** The id of the tool call that the message responds to. */
  @Column('text', { nullable: true })
  tool_call_id!: string | null;

  /** The name of the speaker, such as the tool that responds. */
  @Column('text', { nullable: true })
  name!: string | null;

  @Column('text', { nullable: true })
  trace_id!: string | null;

  @Column('timestamptz')
  created_at!: Date;

  @Column('text')
  created_by!: string;
}
