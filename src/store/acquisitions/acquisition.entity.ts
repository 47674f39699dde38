import { Column, Entity, PrimaryColumn } from 'typeorm';
import { JsonColumn, StampedEntity } from '#platform/db';
import type { RawJson } from '#platform/json';

/** An item that a workspace has acquired. A workspace acquires each item once. */
@Entity('store_acquisitions')
export class AcquisitionEntity extends StampedEntity {
  @PrimaryColumn('text')
  acquisition_id!: string;

  @Column('text')
  org_id!: string;

  @Column('text')
  workspace_id!: string;

  @Column('text')
  store_item_id!: string;

  /** The installed release. */
  @Column('text')
  release_id!: string;

  /** `AcquiredCopyDto[]`. */
  @JsonColumn()
  copies!: RawJson;

  @Column('integer')
  generation!: number;
}
