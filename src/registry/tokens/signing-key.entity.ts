import type { JWK } from 'jose';
import { Column, Entity, PrimaryColumn } from 'typeorm';

/** A key pair that signs the tokens of this service from one time until another. */
@Entity('signing_keys')
export class SigningKeyEntity {
  @PrimaryColumn('text')
  kid!: string;

  @Column('jsonb')
  public_jwk!: JWK;

  /** Sealed. */
  @Column('text')
  private_jwk!: string;

  @Column('timestamptz')
  signs_from!: Date;

  /** Null while no later key follows it. */
  @Column('timestamptz', { nullable: true })
  signs_until!: Date | null;

  @Column('timestamptz')
  created_at!: Date;
}
