import { Column, Entity, PrimaryColumn } from 'typeorm';
import { JsonColumn } from '#platform/db';
import type { RawJson } from '#platform/json';
import { type AnyOf, PlacedEntity } from '../../resources';

export const SESSION_STATUSES = ['active', 'completed', 'failed'] as const;
export type SessionStatus = (typeof SESSION_STATUSES)[number];

/** Deployed agents have the role `runtime`. They read and write sessions and messages. */
export const SESSION_READERS: AnyOf = ['viewer', 'runtime'];
export const SESSION_WRITERS: AnyOf = ['editor', 'runtime'];

/** A conversation with an agent. */
@Entity('agent_sessions')
export class AgentSessionEntity extends PlacedEntity {
  @PrimaryColumn('text')
  session_id!: string;

  @Column('text')
  agent_id!: string;

  /** The version of the agent that the session is pinned to. */
  @Column('integer')
  version_ordinal!: number;

  @Column('text', { nullable: true })
  title!: string | null;

  /** The first message, as sent. */
  @Column('text')
  prompt!: string;

  @Column('text')
  session_status!: SessionStatus;

  @Column('integer')
  message_count!: number;

  /** The ordinal of the newest message, deleted or not. */
  @Column('integer')
  last_ordinal!: number;

  @Column('timestamptz')
  last_message_at!: Date;

  @JsonColumn()
  metadata!: RawJson;
}
