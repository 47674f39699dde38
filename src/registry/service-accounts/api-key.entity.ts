import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { Allow } from '#platform/auth';
import { StampedEntity } from '#platform/db';

/** The limits of a key's calls to models. Null means no limit. */
export interface KeyLimits {
  /** Of all calls in a month (UTC), in US dollars. */
  monthly_budget_usd: number | null;
  requests_per_minute: number | null;
  tokens_per_minute: number | null;
}

/** An API key of a service account. The key itself is not stored. */
@Entity('api_keys')
export class ApiKeyEntity extends StampedEntity implements KeyLimits {
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

  /** Null for all that the account may do. */
  @Column('jsonb', { nullable: true })
  allow!: Allow | null;

  @Column('double precision', { nullable: true })
  monthly_budget_usd!: number | null;

  @Column('integer', { nullable: true })
  requests_per_minute!: number | null;

  @Column('integer', { nullable: true })
  tokens_per_minute!: number | null;

  @Column('timestamptz', { nullable: true })
  expires_at!: Date | null;

  @Column('timestamptz', { nullable: true })
  revoked_at!: Date | null;
}
