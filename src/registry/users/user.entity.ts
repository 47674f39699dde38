import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { AccountStatus, Role } from '#platform/auth';
import { ArchivableEntity, JsonColumn } from '#platform/db';
import type { RawJson } from '#platform/json';

/** A person of an organization. */
@Entity('users')
export class UserEntity extends ArchivableEntity {
  /** Sorts users by creation. Clients see `user_id`. */
  @PrimaryColumn('text')
  user_ref!: string;

  @Column('text')
  org_id!: string;

  /** The id that the issuer of the person's tokens uses. Unique in the organization. */
  @Column('text')
  user_id!: string;

  @Column('text', { nullable: true })
  display_name!: string | null;

  @Column('text', { nullable: true })
  email!: string | null;

  @Column('text')
  status!: AccountStatus;

  /** Roles in the organization, in addition to those that tokens carry. */
  @Column('text', { array: true })
  roles!: Role[];

  @JsonColumn()
  metadata!: RawJson;

  /** Raised by every change. */
  @Column('integer')
  generation!: number;
}
