import { Column, Entity, PrimaryColumn } from 'typeorm';
import { ArchivableEntity, JsonColumn } from '#platform/db';
import type { RawJson } from '#platform/json';
import type { SyncState } from '../../registry';

/** A tool that an agent may call. */
export interface AgentTool {
  server_id: string;
  tool_name: string;
}

/** A skill that an agent has. */
export interface AgentSkill {
  skill_id: string;
  /** The version it is held to; null for the newest there is. */
  version_ordinal: number | null;
}

/** An agent, in one workspace; each version of it is kept. */
@Entity('agents')
export class AgentEntity extends ArchivableEntity {
  @PrimaryColumn('text')
  agent_id!: string;

  @Column('text')
  org_id!: string;

  @Column('text')
  workspace_id!: string;

  /** Unique among the workspace's agents that are not archived; never changes. */
  @Column('text')
  name!: string;

  /** The number of the present version. */
  @Column('integer')
  version_ordinal!: number;

  @Column('text')
  version_id!: string;

  @Column('text', { nullable: true })
  display_name!: string | null;

  @Column('text', { nullable: true })
  description!: string | null;

  @Column('text', { nullable: true })
  model!: string | null;

  @Column('text')
  instructions!: string;

  @Column('jsonb')
  tools!: AgentTool[];

  @Column('jsonb')
  skills!: AgentSkill[];

  @Column('text', { array: true })
  required_permissions!: string[];

  @Column('integer')
  max_step_count!: number;

  @JsonColumn()
  metadata!: RawJson;

  /** The app that declares it; null without one. */
  @Column('text', { nullable: true })
  app_id!: string | null;

  /** Its slug. */
  @Column('text', { nullable: true })
  app!: string | null;

  @Column('text')
  sync_state!: SyncState;

  /** Raised by every change. */
  @Column('integer')
  generation!: number;
}

/** The members that make a version. */
export const CONTENT_MEMBERS = [
  'display_name',
  'description',
  'model',
  'instructions',
  'tools',
  'skills',
  'required_permissions',
  'max_step_count',
  'metadata',
] as const;

export type AgentContent = Pick<AgentEntity, (typeof CONTENT_MEMBERS)[number]>;

/** A version, as it is kept. */
export type AgentVersionRow = AgentContent &
  Pick<
    AgentEntity,
    | 'agent_id'
    | 'org_id'
    | 'workspace_id'
    | 'name'
    | 'version_id'
    | 'version_ordinal'
    | 'created_at'
    | 'created_by'
  >;
