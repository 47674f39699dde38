import { Column, Entity, PrimaryColumn } from 'typeorm';
import { ArchivableEntity, JsonColumn } from '#platform/db';
import type { RawJson } from '#platform/json';
import type { FieldError, ProblemCode } from '#platform/problem';
import type { DeclaredKind } from '../../resources';

/** Outcome of the last reconcile of an app; `pending` if there was none since its declarations changed. */
export const APP_SYNC_STATES = ['pending', 'synced', 'failed'] as const;
export type AppSyncState = (typeof APP_SYNC_STATES)[number];

/** Why reconciles of an app fail. */
export interface SyncError {
  code: ProblemCode;
  detail: string;
  errors: readonly FieldError[];
  /** When a reconcile first failed for this reason; RFC 3339. */
  at: string;
}

/** A resource that an app owned when it was archived. */
export interface ReleasedResource {
  kind: DeclaredKind;
  id: string;
  /** The name by which the app declared it. */
  name: string;
}

/** An app: what it declares, and how its last reconcile ended. */
@Entity('apps')
export class AppEntity extends ArchivableEntity {
  @PrimaryColumn('text')
  app_id!: string;

  @Column('text')
  org_id!: string;

  @Column('text')
  workspace_id!: string;

  /** Its slug, unique among the live apps of the organization. */
  @Column('text')
  app!: string;

  @Column('text', { nullable: true })
  display_name!: string | null;

  @Column('text', { nullable: true })
  description!: string | null;

  @JsonColumn()
  metadata!: RawJson;

  /** A list of `Declaration`s, see `AppDeclarations`. */
  @JsonColumn()
  resources!: RawJson;

  @Column('integer')
  resource_count!: number;

  @Column('text')
  sync_state!: AppSyncState;

  @Column('jsonb', { nullable: true })
  sync_error!: SyncError | null;

  @Column('timestamptz', { nullable: true })
  last_swept_at!: Date | null;

  /** When a worker is to reconcile it next. */
  @Column('timestamptz')
  next_sweep_at!: Date;

  /** The resources that archiving released and restoring takes back; null while the app is live. */
  @Column('jsonb', { nullable: true })
  released!: ReleasedResource[] | null;

  /** Raised by every change, and by each reconcile that ends differently from the one before. The ETag. */
  @Column('integer')
  generation!: number;
}
