import { Column, Entity, PrimaryColumn } from 'typeorm';

/** The actions that the log records. */
export const AUDIT_ACTIONS = [
  'create',
  'update',
  'archive',
  'restore',
  'delete',
  'revoke',
  'reconcile',
  'call',
] as const;
export type AuditAction = (typeof AUDIT_ACTIONS)[number];

/** The types of resources that the log covers. */
export const AUDITED_TYPES = [
  'org',
  'user',
  'workspace',
  'member',
  'service_account',
  'api_key',
  'token',
  'signing_key',
  'app',
  'repo',
  'api',
  'model_provider',
  'model',
  'gateway_key',
  'model_budget',
  'file',
  'skill',
  'mcp_server',
  'tool',
  'agent',
  'trace',
  'dataset',
  'dataset_version',
  'record',
  'experiment',
  'result',
  'scorer',
  'scoring_rule',
  'score',
  'annotation_queue',
  'store_item',
  'acquisition',
  'erasure',
] as const;
export type AuditedType = (typeof AUDITED_TYPES)[number];

/** A changed member of a resource. */
export interface AuditChange {
  member: string;
  /** Absent for free-form, large and secret members. */
  before?: unknown;
  after?: unknown;
}

/** One action of a principal on a resource. Never changed. */
@Entity('audit_log')
export class AuditEntryEntity {
  @PrimaryColumn('text')
  audit_entry_id!: string;

  @Column('text')
  org_id!: string;

  /** Null for an action on the whole organization. */
  @Column('text', { nullable: true })
  workspace_id!: string | null;

  /** A user, a service account or a platform principal. For a scheduled reconcile, the id of the app. */
  @Column('text')
  principal_id!: string;

  @Column('text')
  action!: AuditAction;

  @Column('text')
  resource_type!: AuditedType;

  @Column('text')
  resource_id!: string;

  @Column('jsonb')
  changes!: AuditChange[];

  /** `X-Request-Id` of the request. Null for changes that the service made itself. */
  @Column('text', { nullable: true })
  request_id!: string | null;

  @Column('timestamptz')
  created_at!: Date;
}
