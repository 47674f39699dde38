import { Column, Entity, PrimaryColumn } from 'typeorm';
import { JsonColumn } from '#platform/db';
import type { RawJson } from '#platform/json';
import { PlacedEntity } from '../../resources';

/** The API that a provider offers: that of OpenAI, which most servers offer too, or that of Anthropic. */
export const PROVIDER_KINDS = ['openai', 'anthropic'] as const;
export type ProviderKind = (typeof PROVIDER_KINDS)[number];

/** A server that answers calls of models. */
@Entity('model_providers')
export class ProviderEntity extends PlacedEntity {
  @PrimaryColumn('text')
  provider_id!: string;

  /** Unique among the live providers of the workspace. */
  @Column('text')
  name!: string;

  @Column('text', { nullable: true })
  description!: string | null;

  @Column('text')
  kind!: ProviderKind;

  /** Without a slash at its end. */
  @Column('text')
  base_url!: string;

  /** Sealed for `providerSecretUse`. Null without a key, and for an archived provider. */
  @Column('text', { nullable: true })
  api_key!: string | null;

  /** The values of further request headers, by name. */
  @JsonColumn()
  headers!: RawJson;

  @JsonColumn()
  metadata!: RawJson;
}

/** What a sealed API key is authenticated with, so that it can only be opened for its own provider. */
export const providerSecretUse = (providerId: string): string => `model-provider:${providerId}`;
