import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { AccountStatus, Role } from '#platform/auth';
import { ArchivableEntity, JsonColumn } from '#platform/db';
import type { RawJson } from '#platform/json';

/** A program that acts in an organization. */
@Entity('service_accounts')
export class ServiceAccountEntity extends ArchivableEntity {
  @PrimaryColumn('text')
  service_account_id!: string;

  @Column('text')
  org_id!: string;

  /** Unique among those that are not archived. */
  @Column('text')
  name!: string;

  @Column('text', { nullable: true })
  description!: string | null;

  @Column('text')
  status!: AccountStatus;

  /** Roles in the workspaces below. */
  @Column('text', { array: true })
  roles!: Role[];

  /** The workspaces in which it holds its roles. Memberships can add others. */
  @Column('text', { array: true })
  workspace_ids!: string[];

  @JsonColumn()
  metadata!: RawJson;

  /** Raised by every change. */
  @Column('integer')
  generation!: number;
}
