import { ApiProperty, IntersectionType } from '@nestjs/swagger';
import { IsString } from 'class-validator';
import { ReadOnlyMembersOf, viewOf, IsNullableText } from '#platform/http';
import { OrderedListQueryDto, PageOf } from '#platform/paging';
import { ARTIFACT_KINDS, type ArtifactKind, IsFilter, StampsDto } from '../../resources';
import type { ArtifactPinDto } from '../items/store-item.dto';
import type { AcquisitionEntity } from './acquisition.entity';

/** The body of an upgrade. */
export class UpgradeAcquisitionDto {
  /** Defaults to the newest release. */
  @IsNullableText(255)
  release_id?: string | null;
}

/** Where to install an item, and which release. */
@ReadOnlyMembersOf(() => AcquisitionDto)
export class AcquireStoreItemDto extends UpgradeAcquisitionDto {
  @IsString()
  workspace_id!: string;
}

export class AcquisitionListQueryDto extends OrderedListQueryDto {
  /** Only acquisitions of this workspace. */
  @IsFilter()
  workspace_id?: string;

  /** Only acquisitions of this item. */
  @IsFilter()
  store_item_id?: string;
}

export const CHANGES = ['created', 'updated', 'unchanged'] as const;

/** A copy of a published resource in the workspace. */
export class AcquiredCopyDto {
  @ApiProperty({ enum: ARTIFACT_KINDS })
  kind!: ArtifactKind;
  /** The id of the copy. */
  artifact_id!: string;
  version_id!: string;
  @ApiProperty({ type: 'integer', format: 'int64', minimum: 1 })
  version_ordinal!: number;
  name!: string;
  /** The key of the component in the package. */
  key!: string;
  /** The publisher's resource. */
  source!: ArtifactPinDto;
  /** What the last acquisition or upgrade did to the copy. */
  @ApiProperty({ enum: CHANGES })
  change!: (typeof CHANGES)[number];
  /** What the copy needed when it was installed or last changed by an upgrade, such as a secret, or null. */
  setup!: string | null;
}

/** An item that a workspace has acquired, with its copies. */
export class AcquisitionDto extends StampsDto {
  acquisition_id!: string;
  store_item_id!: string;
  /** True if the item was deleted, else absent. */
  item_erased?: boolean;
  /** The installed release. */
  release_id!: string;
  workspace_id!: string;
  /** In the order of the package. */
  copies!: AcquiredCopyDto[];
  /** The newest release. Null if the item was withdrawn or your organization is no longer in its audience. */
  latest_release_id!: string | null;
  /** Whether the newest release is not the installed one. */
  is_upgradable!: boolean;
}

/** What an upgrade did to one copy. */
export class UpgradeChangeDto {
  /** The key of the component in the new package, or in the earlier package if it was removed. */
  key!: string;
  @ApiProperty({ enum: ARTIFACT_KINDS })
  kind!: ArtifactKind;
  /** The id of the copy. */
  artifact_id!: string;
  name!: string;
  /** `removed` means that the new release lacks the component. Its copy stays. */
  @ApiProperty({ enum: [...CHANGES, 'removed'] })
  change!: (typeof CHANGES)[number] | 'removed';
  /**
   * The version of the copy that the upgrade replaced, if the copy had been changed since it was installed; null otherwise.
   * You can still read that version.
   */
  @ApiProperty({ type: 'integer', format: 'int64', minimum: 1, nullable: true })
  replaced_version_ordinal!: number | null;
}

class ChangesDto {
  changes!: UpgradeChangeDto[];
}

/** An acquisition after an upgrade. */
export class UpgradedAcquisitionDto extends IntersectionType(AcquisitionDto, ChangesDto) {}

export class AcquisitionPageDto extends PageOf(AcquisitionDto) {}

/** @param latest the newest release that is offered to the workspace, or null */
export const toAcquisitionDto = viewOf(AcquisitionDto, (row: AcquisitionEntity, latest: string | null) => ({
  copies: row.copies as unknown as AcquiredCopyDto[],
  latest_release_id: latest,
  is_upgradable: latest !== null && latest !== row.release_id,
  archived_at: null,
}));
