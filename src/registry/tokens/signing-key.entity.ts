import type { JWK } from 'jose';
import { Column, Entity, PrimaryColumn } from 'typeorm';

/** A key pair that signs the tokens of this service during a period. */
@Entity('signing_keys')
export class SigningKeyEntity {
  @PrimaryColumn('text')
  kid!: string;

  @Column('jsonb')
  public_jwk!: JWK;

  /** Encrypted. */
  @Column('text')
  private_jwk!: string;

  @Column('timestamptz')
  signs_from!: Date;

  /** Null until another key replaces it. */
  @Column('timestamptz', { nullable: true })
  signs_until!: Date | null;

  @Column('timestamptz')
  created_at!: Date;
}
