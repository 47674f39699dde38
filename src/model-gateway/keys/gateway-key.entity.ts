import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { Allow } from '#platform/auth';
import { StampedEntity } from '#platform/db';
import type { KeyLimits } from '../../registry';

/** An API key that was created for the gateway, with its own service account. The API key stores the limits. */
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
export interface GatewayKeyRow extends GatewayKeyEntity, KeyLimits {
  /** The first characters of the key. */
  prefix: string;
  expires_at: Date | null;
  revoked_at: Date | null;
  allow: Allow;
  /** Null means all models of the workspace. */
  models: KeyModel[] | null;
}
