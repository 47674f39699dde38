import { Column, Entity, PrimaryColumn } from 'typeorm';
import { JsonColumn } from '#platform/db';
import type { RawJson } from '#platform/json';
import { SealedColumn } from '#platform/secrets';
import { PlacedEntity } from '../../resources';

/** The API that a provider offers: OpenAI's, which many other servers also offer, or Anthropic's. */
export const PROVIDER_KINDS = ['openai', 'anthropic'] as const;
export type ProviderKind = (typeof PROVIDER_KINDS)[number];

/** A server that answers model calls. */
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

  /** Without a trailing slash. */
  @Column('text')
  base_url!: string;

  /** Sealed for `PROVIDER_SECRET`. Null if there is no key, and for an archived provider. */
  @Column('text', { nullable: true })
  api_key!: string | null;

  /** Values of headers to add to every request, by name. */
  @JsonColumn()
  headers!: RawJson;

  @JsonColumn()
  metadata!: RawJson;
}

export const PROVIDER_SECRET = new SealedColumn('model_providers', 'api_key', 'provider_id');
