import { Column, Entity, PrimaryColumn } from 'typeorm';
import { ArchivableEntity, JsonColumn } from '#platform/db';
import type { RawJson } from '#platform/json';
import type { SyncState } from '../../registry';

/** How a server is spoken to. */
export const TRANSPORTS = ['streamable_http', 'sse'] as const;
export type Transport = (typeof TRANSPORTS)[number];

/** How the service shows who it is: not at all, by `Authorization: Bearer`, or by a header of another name. */
export const AUTH_TYPES = ['none', 'bearer', 'header'] as const;
export type AuthType = (typeof AUTH_TYPES)[number];

/** An MCP server that is registered in a workspace; each version of it is kept. */
@Entity('mcp_servers')
export class ServerEntity extends ArchivableEntity {
  @PrimaryColumn('text')
  server_id!: string;

  @Column('text')
  org_id!: string;

  @Column('text')
  workspace_id!: string;

  /** Unique among the workspace's servers that are not archived. */
  @Column('text')
  name!: string;

  @Column('text', { nullable: true })
  description!: string | null;

  @Column('text')
  url!: string;

  @Column('text')
  transport!: Transport;

  @Column('text')
  auth_type!: AuthType;

  /** The name of the header that carries the secret; null unless the type is `header`. */
  @Column('text', { nullable: true })
  auth_header!: string | null;

  /** Sealed by `ServerSecrets`. Null where there is none: it was never given, or the server is archived. */
  @Column('text', { nullable: true })
  auth_secret!: string | null;

  @Column('boolean')
  is_system!: boolean;

  @JsonColumn()
  metadata!: RawJson;

  /** The app that declares it; null where none does. */
  @Column('text', { nullable: true })
  app_id!: string | null;

  /** The slug of that app. */
  @Column('text', { nullable: true })
  app!: string | null;

  /** The name by which the app declares it, whatever it was renamed to since. */
  @Column('text', { nullable: true })
  declared_name!: string | null;

  @Column('text')
  sync_state!: SyncState;

  /** When the server was asked for its tools last; null until then. */
  @Column('timestamptz', { nullable: true })
  tools_listed_at!: Date | null;

  @Column('integer')
  version_ordinal!: number;

  @Column('text')
  version_id!: string;

  /** Raised by every change; the ETag. */
  @Column('integer')
  generation!: number;
}

/** The members that make a version. A secret is never among them. */
export const VERSIONED = ['name', 'description', 'url', 'transport', 'auth_type', 'auth_header'] as const;

/** One version of a server, as it stays. */
export type ServerVersionRow = Pick<
  ServerEntity,
  | (typeof VERSIONED)[number]
  | 'server_id'
  | 'org_id'
  | 'workspace_id'
  | 'version_ordinal'
  | 'version_id'
  | 'created_at'
  | 'created_by'
>;

/** The system server that earlier installations kept for the service itself. It is never listed or found, and swept away. */
export const REGISTRY_NAME = 'registry';

export const isRegistry = ({ is_system, name }: Pick<ServerEntity, 'is_system' | 'name'>): boolean =>
  is_system && name === REGISTRY_NAME;
