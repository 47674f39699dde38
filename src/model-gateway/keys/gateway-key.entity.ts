import { Column, Entity, PrimaryColumn } from 'typeorm';
import { StampedEntity } from '#platform/db';

/** The limits of a service account that was created for the gateway. Its API key stores the expiry and the revocation. */
@Entity('gateway_keys')
export class GatewayKeyEntity extends StampedEntity {
  @PrimaryColumn('text')
  service_account_id!: string;

  @Column('text')
  key_id!: string;

  @Column('text')
  org_id!: string;

  @Column('text')
  workspace_id!: string;

  @Column('text')
  name!: string;

  /** Null means all models of the workspace. */
  @Column('text', { array: true, nullable: true })
  model_ids!: string[] | null;

  @Column('double precision', { nullable: true })
  monthly_budget_usd!: number | null;

  @Column('integer', { nullable: true })
  requests_per_minute!: number | null;

  @Column('integer', { nullable: true })
  tokens_per_minute!: number | null;

  /** Incremented by every change. */
  @Column('integer')
  generation!: number;
}

/** A model that a key may call. */
export interface KeyModel {
  model_id: string;
  name: string;
}

/** A gateway key, joined with its API key and its models. */
export interface GatewayKeyRow extends GatewayKeyEntity {
  /** The first characters of the key. */
  prefix: string;
  expires_at: Date | null;
  revoked_at: Date | null;
  /** Null means all models of the workspace. */
  models: KeyModel[] | null;
}
