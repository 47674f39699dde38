import { Column, Entity, PrimaryColumn } from 'typeorm';
import { StampedEntity } from '#platform/db';
import type { Role } from '#platform/auth';

/** The roles of a principal in one workspace, in addition to those in the organization. */
@Entity('workspace_members')
export class MemberEntity extends StampedEntity {
  @PrimaryColumn('text')
  workspace_id!: string;

  /** `user_id` or `service_account_id`. */
  @PrimaryColumn('text')
  principal_id!: string;

  @Column('text')
  principal_type!: 'user' | 'service_account';

  @Column('text')
  org_id!: string;

  @Column('text', { array: true })
  roles!: Role[];
}
