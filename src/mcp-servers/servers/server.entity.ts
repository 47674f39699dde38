import { Column, Entity, PrimaryColumn } from 'typeorm';
import { JsonColumn } from '#platform/db';
import type { RawJson } from '#platform/json';
import { SealedColumn } from '#platform/secrets';
import { documentOf, OwnedEntity, type SearchDocument } from '../../resources';
import { type Failure, type HealthStatus, uncheckedHealth } from './server-health';

/** The MCP transport of a server. */
export const TRANSPORTS = ['streamable_http', 'sse'] as const;
export type Transport = (typeof TRANSPORTS)[number];

/**
 * How the service authenticates: without a secret, with `Authorization: Bearer`, with another header, or with a token
 * from OAuth 2 client credentials.
 */
export const AUTH_TYPES = ['none', 'bearer', 'header', 'oauth'] as const;
export type AuthType = (typeof AUTH_TYPES)[number];

/** An MCP server that is registered in a workspace, with the content of its newest version. */
@Entity('mcp_servers')
export class ServerEntity extends OwnedEntity {
  @PrimaryColumn('text')
  server_id!: string;

  @Column('text', { nullable: true })
  description!: string | null;

  /** With placeholders for the parts of its query, like `auth_token_url`. */
  @Column('text')
  url!: string;

  /** The parts of the queries of `url` and `auth_token_url`, sealed. Null without any, and for an archived server. */
  @Column('text', { nullable: true })
  url_secrets!: string | null;

  @Column('text')
  transport!: Transport;

  @Column('text')
  auth_type!: AuthType;

  /** The name of the header that carries the secret. Null unless the type is `header`. */
  @Column('text', { nullable: true })
  auth_header!: string | null;

  /** The token endpoint. Null unless the type is `oauth`, like the client id and the scopes. */
  @Column('text', { nullable: true })
  auth_token_url!: string | null;

  @Column('text', { nullable: true })
  auth_client_id!: string | null;

  /** Also null if the token endpoint chooses the scopes. */
  @Column('text', { nullable: true })
  auth_scope!: string | null;

  /** Sealed for `SERVER_SECRET`. Null without a secret, and for an archived server. */
  @Column('text', { nullable: true })
  auth_secret!: string | null;

  @Column('boolean')
  is_system!: boolean;

  @JsonColumn()
  metadata!: RawJson;

  /** The name in the app's declaration. Does not change when the server is renamed. */
  @Column('text', { nullable: true })
  declared_name!: string | null;

  /** When the server last listed its tools, or null. */
  @Column('timestamptz', { nullable: true })
  tools_listed_at!: Date | null;

  @Column('text')
  health_status!: HealthStatus;

  @Column('timestamptz', { nullable: true })
  health_checked_at!: Date | null;

  @Column('integer', { nullable: true })
  health_latency_ms!: number | null;

  @Column('jsonb', { nullable: true })
  health_error!: Failure | null;

  /** When the next check of the server is due. */
  @Column('timestamptz')
  next_check_at!: Date;
}

/** The columns of `auth` without its secret. */
export const AUTH_COLUMNS = [
  'auth_type',
  'auth_header',
  'auth_token_url',
  'auth_client_id',
  'auth_scope',
] as const;
export type AuthColumns = Pick<ServerEntity, (typeof AUTH_COLUMNS)[number]>;

/**
 * The columns that determine how to reach a server. A tool listing is stored only if they have not changed meanwhile.
 */
export const TARGET_FIELDS = ['url', 'url_secrets', 'transport', ...AUTH_COLUMNS, 'auth_secret'] as const;

/** Returns the health columns after a change of a server. A change of its target resets the health. */
export const healthAfter = (changed: Partial<ServerEntity>): Partial<ServerEntity> =>
  TARGET_FIELDS.some((column) => column in changed) ? uncheckedHealth() : {};

/** The members whose changes create a version. They contain no secret. */
export const VERSIONED_FIELDS = ['name', 'description', 'url', 'transport', ...AUTH_COLUMNS] as const;

/** The members whose values the audit log shows. */
export const AUDITED_FIELDS = ['name', 'url', 'transport', 'acquired_from'] as const;

/** A stored version of a server. */
export type ServerVersionRow = Pick<
  ServerEntity,
  | (typeof VERSIONED_FIELDS)[number]
  | 'server_id'
  | 'org_id'
  | 'workspace_id'
  | 'version_ordinal'
  | 'version_id'
  | 'created_at'
  | 'created_by'
>;

/**
 * The name of the system server that earlier installations had for the service itself. It is hidden from lists and
 * search, and the next reconcile of any app archives it.
 */
export const REGISTRY_NAME = 'registry';

export const isRegistry = ({ is_system, name }: Pick<ServerEntity, 'is_system' | 'name'>): boolean =>
  is_system && name === REGISTRY_NAME;

export const SERVER_SECRET = new SealedColumn('mcp_servers', 'auth_secret', 'server_id');
export const SERVER_URL_SECRETS = new SealedColumn('mcp_servers', 'url_secrets', 'server_id');

/** Returns a URL without its query. */
export const withoutQuery = (url: string): string => url.replace(/\?.*$/s, '');

/** Returns the search document of a server. */
export const toServerDocument = (
  row: Pick<ServerEntity, 'server_id' | 'workspace_id' | 'name' | 'description' | 'url'> & {
    updated_at?: Date;
  },
): SearchDocument => documentOf('mcp_server', row.server_id, row, withoutQuery(row.url));
