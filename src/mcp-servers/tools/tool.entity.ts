import { Column, Entity, PrimaryColumn } from 'typeorm';
import { ArchivableEntity, JsonColumn } from '#platform/db';
import type { RawJson } from '#platform/json';

/** A tool that a server offers, or offered. It keeps its id when it returns. */
@Entity('mcp_tools')
export class ToolEntity extends ArchivableEntity {
  @PrimaryColumn('text')
  tool_id!: string;

  @Column('text')
  server_id!: string;

  @Column('text')
  org_id!: string;

  @Column('text')
  workspace_id!: string;

  /** Unique among the server's tools, those that are archived included. */
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

  /** Raised by every change; the ETag. */
  @Column('integer')
  generation!: number;
}
