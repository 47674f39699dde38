import { Column, Entity, PrimaryColumn } from 'typeorm';
import { JsonColumn } from '#platform/db';
import type { RawJson } from '#platform/json';
import { PlacedEntity } from '../../resources';
import type { ProviderKind } from '../providers/provider.entity';

/**
 * How a call selects its target. `single` calls the only target. `fallback` calls the first target, and the next one if it fails.
 * `weighted` calls a random target, in proportion to the weights, and another one if it fails.
 */
export const STRATEGIES = ['single', 'fallback', 'weighted'] as const;
export type Strategy = (typeof STRATEGIES)[number];

/** US dollars per million tokens. */
export interface TargetPrice {
  input_usd_per_million: number;
  output_usd_per_million: number;
  cached_input_usd_per_million?: number;
  cache_write_usd_per_million?: number;
}

/** A model of a provider. */
export interface ModelTarget {
  provider_id: string;
  /** The name of the model at the provider. */
  upstream_model: string;
  /** From 1. Only used by the strategy `weighted`. */
  weight: number;
  /** Overrides the price table. */
  price: TargetPrice | null;
  /** Maximum tokens of a request and of an answer. Null if they are unknown. */
  max_input_tokens: number | null;
  max_output_tokens: number | null;
}

/** A model that clients of the gateway call by its name. */
@Entity('models')
export class ModelEntity extends PlacedEntity {
  @PrimaryColumn('text')
  model_id!: string;

  /** Unique among the live models of the workspace. */
  @Column('text')
  name!: string;

  @Column('text', { nullable: true })
  description!: string | null;

  @Column('text')
  strategy!: Strategy;

  @Column('jsonb')
  targets!: ModelTarget[];

  /** The kind of the first target's provider. */
  @Column('text')
  owned_by!: ProviderKind;

  /** How often a failed call is retried with the same target before the next target is called. */
  @Column('integer')
  retries!: number;

  /** Timeout of each attempt in milliseconds: for a whole response, or for the next event of a stream. */
  @Column('integer')
  timeout_ms!: number;

  /** Seconds for which calls avoid a target after three failures in a row. 0 disables this. */
  @Column('integer')
  cooldown_s!: number;

  @Column('double precision', { nullable: true })
  monthly_budget_usd!: number | null;

  @Column('integer', { nullable: true })
  cache_ttl_seconds!: number | null;

  /** Whether spans of calls contain the messages. */
  @Column('boolean')
  capture_content!: boolean;

  /** Whether to record a span for each call. */
  @Column('boolean')
  record_spans!: boolean;

  @JsonColumn()
  metadata!: RawJson;
}
