import { Column, Entity, PrimaryColumn } from 'typeorm';
import { ArchivableEntity, JsonColumn } from '#platform/db';
import type { RawJson } from '#platform/json';
import type { FieldError, ProblemCode } from '#platform/problem';

/** How the last sweep of an app ended; `pending` where there was none since its declarations were changed. */
export const APP_SYNC_STATES = ['pending', 'synced', 'failed'] as const;
export type AppSyncState = (typeof APP_SYNC_STATES)[number];

/** Why sweeps of an app fail. */
export interface SyncError {
  code: ProblemCode;
  detail: string;
  errors: readonly FieldError[];
  /** When a sweep failed of this for the first time; RFC 3339. */
  at: string;
}

/** An app: what it declares, and how that was swept. */
@Entity('apps')
export class AppEntity extends ArchivableEntity {
  @PrimaryColumn('text')
  app_id!: string;

  @Column('text')
  org_id!: string;

  @Column('text')
  workspace_id!: string;

  /** Its slug: unique among the organization's apps that are not archived. */
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

  /** When a worker is to sweep it next. */
  @Column('timestamptz')
  next_sweep_at!: Date;

  /** Raised by every change, and by each sweep that ends otherwise than the one before it; the ETag. */
  @Column('integer')
  generation!: number;
}
