import { Column, Entity, PrimaryColumn } from 'typeorm';
import { StampedEntity } from '#platform/db';

/** A signing key pair (Ed25519) of an organization. The newest one that is not revoked signs. */
@Entity('org_signing_keys')
export class OrgSigningKeyEntity extends StampedEntity {
  @PrimaryColumn('text')
  kid!: string;

  @Column('text')
  org_id!: string;

  @Column('text', { nullable: true })
  name!: string | null;

  /** The public key in base64url (RFC 8037). */
  @Column('text')
  x!: string;

  /** Encrypted. Null once the key is revoked. */
  @Column('text', { nullable: true })
  private_jwk!: string | null;

  @Column('timestamptz', { nullable: true })
  revoked_at!: Date | null;
}
