import { Column, Entity, PrimaryColumn } from 'typeorm';

/** What was done to a resource. */
export const AUDIT_ACTIONS = ['create', 'update', 'archive', 'delete', 'revoke', 'reconcile'] as const;
export type AuditAction = (typeof AUDIT_ACTIONS)[number];

/** What the log tells of. */
export const AUDITED_TYPES = [
  'org',
  'user',
  'workspace',
  'member',
  'service_account',
  'api_key',
  'token',
  'app',
  'repo',
  'skill',
  'mcp_server',
  'agent',
  'dataset',
  'experiment',
  'scorer',
  'scoring_rule',
] as const;
export type AuditedType = (typeof AUDITED_TYPES)[number];

/** A member of a resource that was changed. */
export interface AuditChange {
  member: string;
  /** Absent for members whose values are not told: free-form ones, large ones, secrets. */
  before?: unknown;
  after?: unknown;
}

/** That a principal did something to a resource. Never changed. */
@Entity('audit_log')
export class AuditEntryEntity {
  @PrimaryColumn('text')
  audit_entry_id!: string;

  @Column('text')
  org_id!: string;

  /** Null for what concerns all of the organization. */
  @Column('text', { nullable: true })
  workspace_id!: string | null;

  /** A person, a service account, a platform principal; of the service's own sweeps the app. */
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

  /** `X-Request-Id` of the request; null for what the service did of itself. */
  @Column('text', { nullable: true })
  request_id!: string | null;

  @Column('timestamptz')
  created_at!: Date;
}
