import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { AccountStatus } from '#platform/auth';
import { ArchivableEntity, JsonColumn } from '#platform/db';
import type { RawJson } from '#platform/json';

/** An organization: a tenant. */
@Entity('organizations')
export class OrgEntity extends ArchivableEntity {
  @PrimaryColumn('text')
  org_id!: string;

  @Column('text')
  name!: string;

  @Column('text')
  status!: AccountStatus;

  @JsonColumn()
  metadata!: RawJson;

  /** The labels of versions that only admins may change. */
  @Column('text', { array: true })
  protected_labels!: string[];

  /** Raised by every change. */
  @Column('integer')
  generation!: number;
}
