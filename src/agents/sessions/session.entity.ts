import { Column, Entity, PrimaryColumn } from 'typeorm';
import { ArchivableEntity, JsonColumn } from '#platform/db';
import type { RawJson } from '#platform/json';

export const SESSION_STATUSES = ['active', 'completed', 'failed'] as const;
export type SessionStatus = (typeof SESSION_STATUSES)[number];

/** A conversation with an agent, held to the version that the agent had when it began. */
@Entity('agent_sessions')
export class AgentSessionEntity extends ArchivableEntity {
  @PrimaryColumn('text')
  session_id!: string;

  @Column('text')
  org_id!: string;

  @Column('text')
  workspace_id!: string;

  @Column('text')
  agent_id!: string;

  /** The version of the agent. */
  @Column('integer')
  version_ordinal!: number;

  @Column('text', { nullable: true })
  title!: string | null;

  /** What it began with, as it was sent; also its first message. */
  @Column('text')
  prompt!: string;

  @Column('text')
  session_status!: SessionStatus;

  @Column('integer')
  message_count!: number;

  @Column('timestamptz')
  last_message_at!: Date;

  @JsonColumn()
  metadata!: RawJson;

  /** Raised by every change, messages among them. */
  @Column('integer')
  generation!: number;
}
