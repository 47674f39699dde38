import { OmitType } from '@nestjs/swagger';
import { IsOneOf, NotNull, viewOf } from '#platform/http';
import { OrderedListQueryDto, PageOf } from '#platform/paging';
import { IsFilter } from '../../resources';
import { manifestOf, StoreItemDto, StoreReleaseDto, toStoreItemDto } from './store-item.dto';
import { CATEGORIES, type Category, type ReleaseRow, type StoreItemEntity } from './store-item.entity';

export class StoreItemListQueryDto extends OrderedListQueryDto {
  /** Words or word prefixes in the name or the tagline. */
  @IsFilter(1000)
  q?: string;

  /** Only items with exactly this name. */
  @IsFilter()
  name?: string;

  /** Only items of this category. */
  @NotNull()
  @IsOneOf(CATEGORIES, { required: false })
  category?: Category;

  /** Only items with this topic. */
  @IsFilter()
  topic?: string;
}

/** The query of a download. */
export class PackageQueryDto {
  /** Defaults to the newest release. */
  @IsFilter()
  release_id?: string;
}

/** An item of the catalogue. */
export class CatalogueItemDto extends StoreItemDto {
  created_at!: Date;
  updated_at!: Date;
  /** A compact JWS (RFC 7515) of the newest release, or null if it is not signed. */
  signature!: string | null;
}

export class CataloguePageDto extends PageOf(CatalogueItemDto) {}

/** A release of an item of the catalogue. Its content never changes. */
export class CatalogueReleaseDto extends OmitType(StoreReleaseDto, ['created_by']) {}

export class CatalogueReleasePageDto extends PageOf(CatalogueReleaseDto) {}

/** @param orgId the organization of the reader, who does not see the other organizations of an audience */
export const toCatalogueItemDto = viewOf(CatalogueItemDto, (row: StoreItemEntity, orgId: string) =>
  toStoreItemDto(row, row.org_id === orgId ? row.org_ids : row.org_ids.filter((one) => one === orgId)),
);

export const toCatalogueReleaseDto = viewOf(CatalogueReleaseDto, (row: ReleaseRow) => manifestOf(row));
