import { Column, Entity, PrimaryColumn } from 'typeorm';
import { ArchivableEntity, JsonColumn } from '#platform/db';
import type { RawJson } from '#platform/json';
import { type ArtifactKind, documentOf, type SearchDocument } from '../../resources';

export const CATEGORIES = ['agents', 'skills', 'tools', 'data', 'evaluation', 'other'] as const;
export type Category = (typeof CATEGORIES)[number];

/** What others may do with an item. */
export const ACTIONS = ['install', 'run', 'download', 'fork'] as const;
export type Action = (typeof ACTIONS)[number];

/** An item that an organization publishes, with the content of its newest release. */
@Entity('store_items')
export class StoreItemEntity extends ArchivableEntity {
  @PrimaryColumn('text')
  store_item_id!: string;

  @Column('text')
  org_id!: string;

  /** The workspace of the artifact. */
  @Column('text')
  workspace_id!: string;

  /** The position among the items of the organization, from 1 without gaps. */
  @Column('bigint')
  ordinal!: number;

  @Column('text')
  artifact_kind!: ArtifactKind;

  @Column('text')
  artifact_id!: string;

  /** Whether the resource was deleted. */
  @Column('boolean')
  artifact_erased!: boolean;

  @Column('text')
  name!: string;

  @Column('text')
  category!: Category;

  @Column('text')
  license!: string;

  @Column('text', { nullable: true })
  tagline!: string | null;

  /** An https URL. */
  @Column('text', { nullable: true })
  artwork!: string | null;

  @Column('text', { array: true })
  highlights!: string[];

  @Column('text', { array: true })
  topics!: string[];

  @Column('boolean')
  is_reviewed!: boolean;

  @Column('text')
  release_id!: string;

  @Column('text')
  publication_id!: string;

  @Column('text', { nullable: true })
  version_label!: string | null;

  @Column('text', { nullable: true })
  release_notes!: string | null;

  @Column('text', { array: true })
  actions!: Action[];

  @JsonColumn()
  manifest!: RawJson;

  @JsonColumn({ nullable: true })
  agent_profile!: RawJson | null;

  /** SHA-256 of the package, in hexadecimal. */
  @Column('text')
  sha256!: string;

  @Column('bigint')
  size_bytes!: number;

  @Column('bigint')
  file_count!: number;

  /** A compact JWS, or null if the release is not signed. */
  @Column('text', { nullable: true })
  signature!: string | null;

  /** Increases with every change of the policy. */
  @Column('bigint')
  policy_generation!: number;

  @Column('boolean')
  is_public!: boolean;

  /** The admitted organizations, other than the publisher. */
  @Column('text', { array: true })
  org_ids!: string[];

  @Column('boolean')
  is_listed!: boolean;

  @Column('boolean')
  can_acquire!: boolean;

  @Column('integer')
  generation!: number;
}

/** The columns of an item that its newest release determines. */
export const RELEASED_FIELDS = [
  'release_id',
  'publication_id',
  'version_label',
  'release_notes',
  'actions',
  'manifest',
  'agent_profile',
  'sha256',
  'size_bytes',
  'file_count',
  'signature',
] as const;

/** A release of an item. */
export type ReleaseRow = Pick<
  StoreItemEntity,
  (typeof RELEASED_FIELDS)[number] | 'store_item_id' | 'org_id' | 'workspace_id' | 'created_at' | 'created_by'
>;

export const POLICY_FIELDS = ['is_public', 'org_ids', 'is_listed', 'can_acquire'] as const;

/** The columns that determine in which lists of the catalogue an item appears. */
export const LISTED_FIELDS = [
  'name',
  'is_listed',
  'is_public',
  'org_ids',
  'category',
  'topics',
  'archived_at',
] as const;

/** The texts of an item that a review covers, in addition to the release. */
export const REVIEWED_FIELDS = ['name', 'tagline', 'artwork', 'highlights', 'category'] as const;

/** The members whose values the audit log shows. */
export const AUDITED_FIELDS = [
  'name',
  'category',
  'license',
  'version_label',
  'actions',
  'release_id',
  'sha256',
  'is_reviewed',
  ...POLICY_FIELDS,
] as const;

/** Returns the search document of an item, for the members of the publisher's workspace. */
export function toStoreItemDocument(row: StoreItemEntity): SearchDocument {
  const body = [row.category, ...row.topics, ...row.highlights, row.release_notes ?? ''].join('\n');
  return documentOf('store_item', row.store_item_id, { ...row, description: row.tagline }, body);
}
