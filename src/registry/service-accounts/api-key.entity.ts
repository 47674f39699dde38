import { Column, Entity, PrimaryColumn } from 'typeorm';

/** An API key of a service account; the key itself is not stored. */
@Entity('api_keys')
export class ApiKeyEntity {
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

  @Column('timestamptz')
  created_at!: Date;

  @Column('timestamptz')
  updated_at!: Date;

  @Column('text')
  created_by!: string;
}
