import { Column } from 'typeorm';
import { ArchivableEntity } from '#platform/db';
import type { AcquiredFrom } from '../packages/packager';

/** The states of a resource in relation to its declaration in an app. */
export const SYNC_STATES = ['unmanaged', 'pending', 'synced', 'drifted', 'failed'] as const;
export type SyncState = (typeof SYNC_STATES)[number];

/** The columns of a resource in a workspace that is found by its own id. */
export abstract class PlacedEntity extends ArchivableEntity {
  @Column('text')
  org_id!: string;

  @Column('text')
  workspace_id!: string;

  /** Incremented by every change. */
  @Column('integer')
  generation!: number;
}

/** The columns of a resource with versions that apps can declare. */
export abstract class OwnedEntity extends PlacedEntity {
  /** Unique among the live resources of the kind in the workspace. */
  @Column('text')
  name!: string;

  /** The number of the newest version. */
  @Column('integer')
  version_ordinal!: number;

  @Column('text')
  version_id!: string;

  /** The app that declares the resource, or null. */
  @Column('text', { nullable: true })
  app_id!: string | null;

  /** The slug of that app. */
  @Column('text', { nullable: true })
  app!: string | null;

  @Column('text')
  sync_state!: SyncState;

  /** The origin of a copy of a published resource. Not content, so a change creates no version. */
  @Column('jsonb', { nullable: true })
  acquired_from!: AcquiredFrom | null;
}
