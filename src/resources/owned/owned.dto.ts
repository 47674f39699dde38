import { ApiProperty } from '@nestjs/swagger';
import { IsOneOf, NotNull } from '#platform/http';
import { NamedListQueryDto } from '#platform/paging';
import { IsFilter } from '../fields';
import type { AcquiredFromDto } from '../packages/acquired-from.dto';
import { PlacedDto } from '../resource.dto';
import { SYNC_STATES, type SyncState } from './owned.entity';

/** The members of every resource with versions that apps can declare. */
export class OwnedDto extends PlacedDto {
  name!: string;
  /** The number of the newest version. */
  @ApiProperty({ type: 'integer', format: 'int32', minimum: 1 })
  version_ordinal!: number;
  version_id!: string;
  /** The app that declares the resource, or null. */
  app!: string | null;
  /**
   * Whether the resource matches its app's declaration: `unmanaged` (no app declares it), `synced` (it matches), `pending`
   * (the declaration has changed since the last reconcile), `drifted` (it was changed directly, not through its app) or
   * `failed` (the last reconcile could not apply the declaration).
   */
  @ApiProperty({ enum: SYNC_STATES })
  sync_state!: SyncState;
  /** The store item and release that the resource is a copy of. Null for a resource that was not acquired from the store. */
  acquired_from!: AcquiredFromDto | null;
}

/** The members that versions do not have. */
export const UNVERSIONED_MEMBERS = [
  'generation',
  'app',
  'sync_state',
  'acquired_from',
  'updated_at',
  'archived_at',
] as const;

/** The filters of every list of resources that apps can declare. */
export class OwnedListQueryDto extends NamedListQueryDto {
  /** Only resources of this workspace. */
  @IsFilter()
  workspace_id?: string;

  /** Only the resources with this name. */
  @IsFilter()
  name?: string;

  /** Only resources in this state. */
  @NotNull()
  @IsOneOf(SYNC_STATES, { required: false })
  sync_state?: SyncState;

  /** Only resources that this app declares. Takes its slug or its id. */
  @IsFilter()
  app?: string;
}
