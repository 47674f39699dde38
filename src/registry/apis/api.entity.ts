import { Column, Entity, PrimaryColumn } from 'typeorm';
import { JsonColumn } from '#platform/db';
import type { RawJson } from '#platform/json';
import { OwnedEntity } from '../../resources';

/**
 * How the service authenticates to an API: without a secret, with `Authorization: Bearer`, with another header, with
 * `Authorization: Basic`, or with a query parameter.
 */
export const AUTH_TYPES = ['none', 'bearer', 'header', 'basic', 'query'] as const;
export type AuthType = (typeof AUTH_TYPES)[number];

/** The methods that callers of an API may use, in the order in which they are stored. */
export const API_METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const;
export type ApiMethod = (typeof API_METHODS)[number];

export const TIMEOUT_DEFAULT_MS = 30_000;

/** An HTTP API registered in a workspace. */
@Entity('apis')
export class ApiEntity extends OwnedEntity {
  @PrimaryColumn('text')
  api_id!: string;

  @Column('text', { nullable: true })
  description!: string | null;

  /** Without a trailing slash. */
  @Column('text')
  base_url!: string;

  @Column('text')
  auth_type!: AuthType;

  /** The name of the header or query parameter that carries the secret. Null for other types. */
  @Column('text', { nullable: true })
  auth_name!: string | null;

  /** Sealed for `API_SECRET`. Null if there is no secret, and for an archived API. */
  @Column('text', { nullable: true })
  auth_secret!: string | null;

  /** Without duplicates, in the order of `API_METHODS`. */
  @Column('text', { array: true })
  allowed_methods!: ApiMethod[];

  @Column('integer')
  timeout_ms!: number;

  /** Values of headers to add to every request, by name. */
  @JsonColumn()
  headers!: RawJson;

  @Column('boolean')
  allow_encoded_slash!: boolean;

  /** Null means no limit. */
  @Column('integer', { nullable: true })
  requests_per_minute!: number | null;

  /** Null means no limit. */
  @Column('integer', { nullable: true })
  max_in_flight!: number | null;

  @JsonColumn()
  metadata!: RawJson;

  /** The name in the app's declaration, which stays when the API is renamed. */
  @Column('text', { nullable: true })
  declared_name!: string | null;
}

/** The columns that decide how the service calls an API, without the secret and large ones. */
export const CALL_FIELDS = [
  'base_url',
  'auth_type',
  'auth_name',
  'allowed_methods',
  'timeout_ms',
  'allow_encoded_slash',
  'requests_per_minute',
  'max_in_flight',
] as const;

/** The members of a version, which never include the secret. */
export const VERSIONED_FIELDS = ['name', 'description', ...CALL_FIELDS, 'headers'] as const;

/** The members whose values the audit log shows. */
export const AUDITED_FIELDS = [
  'name',
  'base_url',
  'allowed_methods',
  'timeout_ms',
  'allow_encoded_slash',
  'requests_per_minute',
  'max_in_flight',
] as const;

/** A stored version of an API. */
export type ApiVersionRow = Pick<
  ApiEntity,
  | (typeof VERSIONED_FIELDS)[number]
  | 'api_id'
  | 'org_id'
  | 'workspace_id'
  | 'version_ordinal'
  | 'version_id'
  | 'created_at'
  | 'created_by'
>;
