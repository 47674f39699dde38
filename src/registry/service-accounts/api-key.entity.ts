import { Column, Entity, PrimaryColumn } from 'typeorm';
import { StampedEntity } from '#platform/db';

/** An API key of a service account. The key itself is not stored. */
@Entity('api_keys')
export class ApiKeyEntity extends StampedEntity {
  @PrimaryColumn('text')
  key_id!: string;

  @Column('text')
  org_id!: string;

  @Column('text')
  service_account_id!: string;

  @Column('text')
  name!: string;

  /** The first characters of the key. */
  @Column('text')
  prefix!: string;

  /** HMAC-SHA-256 of the key. */
  @Column('bytea')
  hash!: Buffer;

  @Column('timestamptz', { nullable: true })
  expires_at!: Date | null;

  @Column('timestamptz', { nullable: true })
  revoked_at!: Date | null;
}
