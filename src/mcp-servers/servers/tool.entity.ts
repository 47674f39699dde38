import { Column, Entity, PrimaryColumn } from 'typeorm';
import { JsonColumn } from '#platform/db';
import type { RawJson } from '#platform/json';
import { PlacedEntity } from '../../resources';

/** A tool that a server offers or has offered. A tool that reappears keeps its id and its versions. */
@Entity('mcp_tools')
export class ToolEntity extends PlacedEntity {
  @PrimaryColumn('text')
  tool_id!: string;

  @Column('text')
  server_id!: string;

  /** Unique among the server's tools, archived ones included. */
  @Column('text')
  name!: string;

  @Column('text', { nullable: true })
  title!: string | null;

  @Column('text', { nullable: true })
  description!: string | null;

  @JsonColumn()
  input_schema!: RawJson;

  @JsonColumn({ nullable: true })
  output_schema!: RawJson | null;

  @JsonColumn({ nullable: true })
  annotations!: RawJson | null;

  /** SHA-256 over the canonical JSON (RFC 8785) of name, title, description, schemas and annotations. */
  @Column('text')
  digest!: string;

  /** The number of the newest version. */
  @Column('integer')
  version_ordinal!: number;

  @Column('text')
  version_id!: string;

  /** Names and descriptions of the parameters, for the search index. */
  @Column('text')
  parameters!: string;
}

/** The versioned members, which the digest covers. */
export const TOOL_CONTENT = [
  'name',
  'title',
  'description',
  'input_schema',
  'output_schema',
  'annotations',
] as const;

/** A stored version of a tool. */
export type ToolVersionRow = Pick<
  ToolEntity,
  | (typeof TOOL_CONTENT)[number]
  | 'tool_id'
  | 'server_id'
  | 'org_id'
  | 'workspace_id'
  | 'version_ordinal'
  | 'version_id'
  | 'digest'
  | 'created_at'
  | 'created_by'
>;
