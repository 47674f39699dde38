import { Column, Entity, PrimaryColumn } from 'typeorm';
import { JsonColumn } from '#platform/db';
import type { RawJson } from '#platform/json';
import { documentOf, LabelledEntity, type SearchDocument } from '../../resources';

/** A tool that an agent may call. */
export interface AgentTool {
  server_id: string;
  tool_name: string;
}

/** A skill that an agent has. */
export interface AgentSkill {
  skill_id: string;
  /** The version that the agent is pinned to. Null means the newest. */
  version_ordinal: number | null;
}

/** An agent of a workspace, with the content of its newest version. */
@Entity('agents')
export class AgentEntity extends LabelledEntity {
  @PrimaryColumn('text')
  agent_id!: string;

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

  /** The members of its A2A card that differ from the derived ones. */
  @JsonColumn()
  card!: RawJson;
}

/** The members whose changes create a version. */
export const CONTENT_FIELDS = [
  'display_name',
  'description',
  'model',
  'instructions',
  'tools',
  'skills',
  'required_permissions',
  'max_step_count',
  'metadata',
  'card',
] as const;

export type AgentContent = Pick<AgentEntity, (typeof CONTENT_FIELDS)[number]>;

/** A stored version of an agent. */
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

/** The members whose values the audit log shows. */
export const AUDITED_FIELDS = [
  'display_name',
  'model',
  'tools',
  'skills',
  'required_permissions',
  'max_step_count',
  'acquired_from',
] as const;

/** Returns the search document of an agent. */
export function toAgentDocument(row: AgentEntity): SearchDocument {
  const description = [row.display_name, row.description].filter((text) => text !== null).join('. ') || null;
  return documentOf(
    'agent',
    row.agent_id,
    { ...row, description },
    [row.model ?? '', row.instructions].join('\n'),
  );
}
