import { Column, Entity, PrimaryColumn } from 'typeorm';
import { JsonColumn } from '#platform/db';
import type { RawJson } from '#platform/json';
import { PlacedEntity } from '../../resources';

/** A tool that a server offers or offered. A tool that comes back keeps its id. */
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
}
