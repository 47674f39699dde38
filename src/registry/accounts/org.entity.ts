import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { AccountStatus } from '#platform/auth';
import { JsonColumn } from '#platform/db';
import type { RawJson } from '#platform/json';

/** An organization: a tenant. */
@Entity('organizations')
export class OrgEntity {
  @PrimaryColumn('text')
  org_id!: string;

  @Column('text')
  name!: string;

  @Column('text')
  status!: AccountStatus;

  @JsonColumn()
  metadata!: RawJson;

  /** Raised by every change. */
  @Column('integer')
  generation!: number;

  @Column('timestamptz')
  created_at!: Date;

  @Column('timestamptz')
  updated_at!: Date;

  @Column('text')
  created_by!: string;

  @Column('timestamptz', { nullable: true })
  archived_at!: Date | null;
}
