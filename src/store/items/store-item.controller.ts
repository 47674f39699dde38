import { Body, Controller, Get, HttpCode, Param, Post, Query } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { Throws } from '#platform/problem';
import {
  CurrentPrincipal,
  CurrentRequestId,
  CurrentScope,
  type OrgScope,
  PlatformOnly,
  type Principal,
  RequireRoleInAnyWorkspace,
} from '#platform/auth';
import { ContentRequest, type Reply, type RequestedContent, RequestBody, SendsContent } from '#platform/http';
import { OrderedListQueryDto, type Page } from '#platform/paging';
import { ReviewStoreItemDto } from './store-item-bodies.dto';
import { StoreItemDto } from './store-item.dto';
import { StoreItemService } from './store-item.service';
import {
  CatalogueItemDto,
  CataloguePageDto,
  type CatalogueReleaseDto,
  CatalogueReleasePageDto,
  PackageQueryDto,
  StoreItemListQueryDto,
} from './catalogue.dto';
import { CatalogueService, PACKAGE_MEDIA } from './catalogue.service';

@ApiTags('Store')
@Controller('store/v1/items')
export class StoreItemController {
  constructor(
    private readonly catalogue: CatalogueService,
    private readonly items: StoreItemService,
  ) {}

  /** List the items in the catalogue of your organization, newest first */
  @Get()
  @RequireRoleInAnyWorkspace('viewer')
  @ApiOkResponse({ type: CataloguePageDto })
  list(
    @CurrentScope() scope: OrgScope,
    @Query() query: StoreItemListQueryDto,
  ): Promise<Page<CatalogueItemDto>> {
    return this.catalogue.list(scope, query);
  }

  /** Get an item whose audience includes your organization, listed or not */
  @Get(':store_item_id')
  @RequireRoleInAnyWorkspace('viewer')
  @ApiOkResponse({ type: CatalogueItemDto })
  get(@CurrentScope() scope: OrgScope, @Param('store_item_id') id: string): Promise<CatalogueItemDto> {
    return this.catalogue.get(scope, id);
  }

  /** List the releases of an item, newest first */
  @Get(':store_item_id/releases')
  @RequireRoleInAnyWorkspace('viewer')
  @ApiOkResponse({ type: CatalogueReleasePageDto })
  listReleases(
    @CurrentScope() scope: OrgScope,
    @Param('store_item_id') id: string,
    @Query() query: OrderedListQueryDto,
  ): Promise<Page<CatalogueReleaseDto>> {
    return this.catalogue.listReleases(scope, id, query);
  }

  /**
   * Download the package of an item
   *
   * @remarks The package is a reproducible tar.gz. Its first file is `manifest.json`.
   */
  @Get(':store_item_id/package')
  @Throws('forbidden')
  @RequireRoleInAnyWorkspace('viewer')
  @SendsContent(PACKAGE_MEDIA)
  getPackage(
    @CurrentScope() scope: OrgScope,
    @Param('store_item_id') id: string,
    @Query() { release_id }: PackageQueryDto,
    @ContentRequest() requested: RequestedContent,
  ): Promise<Reply> {
    return this.catalogue.download(scope, id, release_id, requested);
  }

  /** Mark the newest release of an item as reviewed, or as not reviewed */
  @Post(':store_item_id/review')
  @HttpCode(200)
  @PlatformOnly()
  @RequestBody({ optional: true })
  @ApiOkResponse({ type: StoreItemDto })
  review(
    @CurrentPrincipal() principal: Principal,
    @CurrentRequestId() requestId: string,
    @Param('store_item_id') id: string,
    @Body() dto: ReviewStoreItemDto,
  ): Promise<StoreItemDto> {
    return this.items.review(principal, requestId, id, dto);
  }
}
