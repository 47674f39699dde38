import { Column, Entity, PrimaryColumn } from 'typeorm';
import { ArchivableEntity, JsonColumn } from '#platform/db';
import type { RawJson } from '#platform/json';
import type { FieldError, ProblemCode } from '#platform/problem';
import type { DeclaredKind } from '../../resources';

/** The outcome of an app's last reconcile, or `pending` if its declarations have changed since. */
export const APP_SYNC_STATES = ['pending', 'synced', 'failed'] as const;
export type AppSyncState = (typeof APP_SYNC_STATES)[number];

/** The reason why reconciles of an app fail. */
export interface SyncError {
  code: ProblemCode;
  detail: string;
  errors: readonly FieldError[];
  /** The time when a reconcile first failed for this reason (RFC 3339). */
  at: string;
}

/** A resource that an app owned when it was archived. */
export interface ReleasedResource {
  kind: DeclaredKind;
  id: string;
  /** The name by which the app declared it. */
  name: string;
}

/** An app, its declarations, and the outcome of its last reconcile. */
@Entity('apps')
export class AppEntity extends ArchivableEntity {
  @PrimaryColumn('text')
  app_id!: string;

  @Column('text')
  org_id!: string;

  @Column('text')
  workspace_id!: string;

  /** The slug, unique among the live apps of the organization. */
  @Column('text')
  app!: string;

  @Column('text', { nullable: true })
  display_name!: string | null;

  @Column('text', { nullable: true })
  description!: string | null;

  @JsonColumn()
  metadata!: RawJson;

  /** A list of declarations. See `AppDeclarations`. */
  @JsonColumn()
  resources!: RawJson;

  @Column('integer')
  resource_count!: number;

  @Column('text')
  sync_state!: AppSyncState;

  @Column('jsonb', { nullable: true })
  sync_error!: SyncError | null;

  @Column('timestamptz', { nullable: true })
  last_reconciled_at!: Date | null;

  /** When the app is next due for a reconcile. */
  @Column('timestamptz')
  next_reconcile_at!: Date;

  /** The resources that the archived app released, and takes back when it is restored. Null while the app is live. */
  @Column('jsonb', { nullable: true })
  released!: ReleasedResource[] | null;

  /** Incremented by every change and by every reconcile that ends differently from the previous one. It is the ETag. */
  @Column('integer')
  generation!: number;
}
