import { ApiProperty } from '@nestjs/swagger';
import { viewOf } from '#platform/http';
import { ARTIFACT_KINDS, type ArtifactKind } from '../../resources';
import {
  type Action,
  ACTIONS,
  type Category,
  CATEGORIES,
  type ReleaseRow,
  type StoreItemEntity,
} from './store-item.entity';

/** The source of an item. */
export class StoreSourceDto {
  @ApiProperty({ enum: ['release'] })
  kind!: 'release';
  /** The newest release. */
  release_id!: string;
  /** The publisher's resource. */
  artifact_id?: string | null;
  /** True if the resource was deleted, else absent. */
  erased?: boolean;
}

/** A resource of the publisher, pinned to a version. */
export class ArtifactPinDto {
  @ApiProperty({ enum: ARTIFACT_KINDS })
  kind!: ArtifactKind;
  artifact_id!: string;
  version_id!: string;
  @ApiProperty({ type: 'integer', format: 'int64', minimum: 1 })
  version_ordinal!: number;
  /** The release that the publisher acquired the resource from. Null if the publisher did not acquire the resource. */
  release_id?: string | null;
}

/** A resource in a package. */
export class PackageComponentDto {
  /** The directory in the package and the digest of its files, such as `skills/pdf-forms@sha256:…`. */
  key!: string;
  source!: ArtifactPinDto;
  /** The first component that depends on this one. Null for the root. */
  parent_key?: string | null;
}

/** The content of a package. */
export class PackageManifestDto {
  @ApiProperty({ type: 'integer', format: 'int32', minimum: 0 })
  schema_version!: number;
  @ApiProperty({ enum: ['native'] })
  adapter!: string;
  @ApiProperty({ type: 'integer', format: 'int32', minimum: 0 })
  adapter_version!: number;
  @ApiProperty({ enum: ['tar+gzip'] })
  format!: string;
  /** The published resource. */
  root!: ArtifactPinDto;
  /** In the order of the package: each component after its dependencies, the root last. */
  components!: PackageComponentDto[];
  @ApiProperty({ enum: ACTIONS, isArray: true })
  actions!: Action[];
}

/** The organizations that see an item, in addition to its publisher. */
export class StoreAudienceDto {
  /** Whether every organization is admitted. */
  is_public!: boolean;
  /** The admitted organizations. Readers other than the publisher see only their own organization here. */
  org_ids?: string[];
}

export class StorePolicyDto {
  /** Increases with every change of the policy. Serves as the ETag of the policy. */
  @ApiProperty({ type: 'integer', format: 'int64', minimum: 1 })
  generation!: number;
  audience!: StoreAudienceDto;
  /** Whether the item is in the catalogue of its audience. */
  is_listed!: boolean;
  /** Whether the audience may acquire and download the item, as far as `actions` allow. */
  can_acquire!: boolean;
}

/** A tool or a skill of an agent. */
export class AgentCapabilityDto {
  @ApiProperty({ enum: ['tool', 'skill'] })
  kind!: 'tool' | 'skill';
  name!: string;
}

/** A packed skill that an agent depends on. */
export class AgentDependencyDto {
  skill_id!: string;
  @ApiProperty({ type: 'integer', format: 'int64', minimum: 1 })
  version_ordinal!: number;
  /** SHA-256 over the files of the skill, in hexadecimal. */
  source_digest!: string;
}

/** The capabilities and requirements of a published agent. */
export class AgentProfileDto {
  capabilities!: AgentCapabilityDto[];
  required_permissions!: string[];
  dependencies!: AgentDependencyDto[];
  /** Whether the package contains skills of the agent, in pinned versions. */
  has_pinned_skills!: boolean;
  @ApiProperty({ type: 'integer', format: 'int32', minimum: 1 })
  max_step_count!: number;
}

/** An item of the store, with its newest release. */
export class StoreItemDto {
  store_item_id!: string;
  /** A second id of the newest release, assigned when it was published. */
  publication_id!: string;
  publisher_org_id!: string;
  name!: string;
  @ApiProperty({ enum: CATEGORIES })
  category!: Category;
  source!: StoreSourceDto;
  manifest!: PackageManifestDto;
  license!: string;
  /** What others may do with the item. */
  @ApiProperty({ enum: ACTIONS, isArray: true })
  actions!: Action[];
  /** SHA-256 of the package, in hexadecimal. */
  sha256!: string;
  /** Size of the package, in bytes. */
  @ApiProperty({ type: 'integer', format: 'int64', minimum: 0 })
  size_bytes!: number;
  /** The number of files in the package, including `manifest.json`. */
  @ApiProperty({ type: 'integer', format: 'int64', minimum: 1 })
  file_count!: number;
  policy!: StorePolicyDto;
  /** Null unless the item is an agent. */
  agent_profile?: AgentProfileDto | null;
  /** An https URL. */
  artwork?: string | null;
  highlights?: string[];
  /** Whether the operator of the service has reviewed the newest release. */
  @ApiProperty({ readOnly: true })
  is_reviewed?: boolean;
  release_notes?: string | null;
  tagline?: string | null;
  topics?: string[];
  version_label?: string | null;
}

/** An item as its publisher sees it. */
export class PublisherItemDto extends StoreItemDto {
  /** The workspace of the resource. */
  workspace_id!: string;
  /** A compact JWS (RFC 7515) of the newest release, or null if it is not signed. */
  signature!: string | null;
  created_at!: Date;
  updated_at!: Date;
  created_by!: string;
  /** When the item was withdrawn, or null. */
  archived_at!: Date | null;
}

/** The position of a page among the items of the organization. */
export class StoreItemsPageMetaDto {
  @ApiProperty({ type: 'integer', format: 'int32', minimum: 0 })
  limit!: number;
  @ApiProperty({ type: 'integer', format: 'int32', minimum: 0 })
  offset!: number;
  /** The number of items of the organization. */
  @ApiProperty({ type: 'integer', format: 'int64', minimum: 0, nullable: true })
  total?: number | null;
}

/** A page of the organization's own items. */
export class StoreItemsPageDto {
  items!: StoreItemDto[];
  page!: StoreItemsPageMetaDto;
}

/** @param orgIds the organizations of the audience that the reader may see */
export const toStoreItemDto = viewOf(
  StoreItemDto,
  (row: StoreItemEntity, orgIds: string[] = row.org_ids) => ({
    publisher_org_id: row.org_id,
    source: {
      kind: 'release' as const,
      release_id: row.release_id,
      artifact_id: row.artifact_id,
      ...(row.artifact_erased && { erased: true }),
    },
    ...manifestOf(row),
    agent_profile: row.agent_profile as unknown as AgentProfileDto | null,
    policy: {
      generation: row.policy_generation,
      audience: { is_public: row.is_public, org_ids: orgIds },
      is_listed: row.is_listed,
      can_acquire: row.can_acquire,
    },
  }),
);

export const toPublisherItemDto = viewOf(PublisherItemDto, (row: StoreItemEntity) => toStoreItemDto(row));

/** A release of an item. Its content never changes. */
export class StoreReleaseDto {
  release_id!: string;
  publication_id!: string;
  version_label!: string | null;
  release_notes!: string | null;
  /** SHA-256 of the package, in hexadecimal. */
  sha256!: string;
  @ApiProperty({ type: 'integer', format: 'int64', minimum: 0 })
  size_bytes!: number;
  @ApiProperty({ type: 'integer', format: 'int64', minimum: 1 })
  file_count!: number;
  manifest!: PackageManifestDto;
  /** A compact JWS (RFC 7515) of the release, or null if it is not signed. */
  signature!: string | null;
  created_at!: Date;
  created_by!: string;
}

export const manifestOf = ({ manifest }: Pick<ReleaseRow, 'manifest'>) => ({
  manifest: manifest as unknown as PackageManifestDto,
});

export const toStoreReleaseDto = viewOf(StoreReleaseDto, (row: ReleaseRow) => manifestOf(row));
