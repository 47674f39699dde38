import { Body, Controller, Get, HttpCode, Param, Patch, Post, Put, Query } from '@nestjs/common';
import { ApiCreatedResponse, ApiHeader, ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { CurrentScope, type OrgScope, RequireRoleInAnyWorkspace, RequireRoleSomewhere } from '#platform/auth';
import {
  created,
  ETAG_HEADER,
  IfMatch,
  RequestBody,
  Reply,
  RequestSignal,
  TakesAsLongAsImports,
  type Versioned,
} from '#platform/http';
import { OrderedListQueryDto, type Page } from '#platform/paging';
import { Throws } from '#platform/problem';
import { RateLimited } from '#platform/rate-limit';
import { DeleteRoute, DeletionQueryDto } from '../../resources';
import {
  CreatePublisherItemDto,
  CreatePublisherItemReleaseDto,
  PatchPublisherItemDto,
  PublisherItemPolicyDto,
  PublisherItemsQueryDto,
  StoreReleasePageDto,
} from '../items/store-item-bodies.dto';
import { PublisherItemDto, StoreItemsPageDto, type StoreReleaseDto } from '../items/store-item.dto';
import { StoreItemService } from '../items/store-item.service';
import { PublishingService } from './publishing.service';

const PATH = '/store/v1/publisher/items';

@ApiTags('Store')
@Controller('store/v1/publisher/items')
export class PublisherItemController {
  constructor(
    private readonly items: StoreItemService,
    private readonly publishing: PublishingService,
  ) {}

  /** List the items of your organization, newest first */
  @Get()
  @RequireRoleInAnyWorkspace('viewer')
  @RateLimited('store_listing')
  @Throws('forbidden', 'storage_unavailable')
  @ApiOkResponse({ type: StoreItemsPageDto })
  list(@CurrentScope() scope: OrgScope, @Query() query: PublisherItemsQueryDto): Promise<StoreItemsPageDto> {
    return this.items.listOwn(scope, query);
  }

  /** Publish a resource and its dependencies as a new item */
  @Post()
  @Throws('storage_unavailable')
  @RequireRoleSomewhere('publisher')
  @TakesAsLongAsImports()
  @ApiCreatedResponse({ type: PublisherItemDto })
  async create(
    @CurrentScope() scope: OrgScope,
    @Body() dto: CreatePublisherItemDto,
    @RequestSignal() signal: AbortSignal,
  ): Promise<Reply> {
    return published(await this.publishing.publish(scope, dto, signal));
  }

  /** Get an item of your organization */
  @Get(':store_item_id')
  @RequireRoleInAnyWorkspace('viewer')
  @ApiOkResponse({ type: PublisherItemDto })
  get(
    @CurrentScope() scope: OrgScope,
    @Param('store_item_id') id: string,
  ): Promise<Versioned<PublisherItemDto>> {
    return this.items.get(scope, id);
  }

  /**
   * Change the texts of an item
   *
   * @remarks The content, `actions` and `policy` are read-only here. To change them, publish a release or replace the policy. If-Match takes the ETag of the item, not that of its policy.
   */
  @Patch(':store_item_id')
  @RequireRoleSomewhere('publisher')
  @ApiOkResponse({ type: PublisherItemDto })
  patch(
    @CurrentScope() scope: OrgScope,
    @Param('store_item_id') id: string,
    @Body() dto: PatchPublisherItemDto,
    @IfMatch() ifMatch?: string,
  ): Promise<Versioned<PublisherItemDto>> {
    return this.items.patch(scope, id, dto, ifMatch);
  }

  /** Replace the policy of an item: who sees it, whether it is listed, and whether it can be acquired */
  @Put(':store_item_id/policy')
  @Throws('conflict')
  @RequireRoleSomewhere('publisher')
  @ApiHeader({
    name: 'If-Match',
    required: false,
    description:
      'The `policy.generation` of the item in double quotes, such as `"2"`. Returns 412 if the policy has changed since.',
  })
  @ApiOkResponse({ type: PublisherItemDto, headers: ETAG_HEADER })
  putPolicy(
    @CurrentScope() scope: OrgScope,
    @Param('store_item_id') id: string,
    @Body() dto: PublisherItemPolicyDto,
    @IfMatch() ifMatch?: string,
  ): Promise<Versioned<PublisherItemDto>> {
    return this.items.setPolicy(scope, id, dto, ifMatch);
  }

  /**
   * Withdraw an item permanently
   *
   * @remarks The item can no longer be acquired, and other organizations can no longer read or download it. Existing copies stay.
   */
  @Post(':store_item_id/withdraw')
  @HttpCode(200)
  @RequireRoleSomewhere('publisher')
  @ApiOkResponse({ type: PublisherItemDto })
  withdraw(
    @CurrentScope() scope: OrgScope,
    @Param('store_item_id') id: string,
    @IfMatch() ifMatch?: string,
  ): Promise<Versioned<PublisherItemDto>> {
    return this.items.archive(scope, id, ifMatch);
  }

  /**
   * Delete a withdrawn item, with its releases and their packages
   *
   * @remarks Not an item that other organizations have acquired (409).
   */
  @DeleteRoute(':store_item_id')
  async delete(
    @CurrentScope() scope: OrgScope,
    @Param('store_item_id') id: string,
    @Query() { force }: DeletionQueryDto,
    @IfMatch() ifMatch?: string,
  ): Promise<void> {
    await this.items.delete(scope, id, { force, ifMatch });
  }

  /** Publish a new release of an item */
  @Post(':store_item_id/releases')
  @Throws('storage_unavailable')
  @RequireRoleSomewhere('publisher')
  @TakesAsLongAsImports()
  @RequestBody({ optional: true })
  @ApiCreatedResponse({ type: PublisherItemDto, headers: ETAG_HEADER })
  async createRelease(
    @CurrentScope() scope: OrgScope,
    @Param('store_item_id') id: string,
    @Body() dto: CreatePublisherItemReleaseDto,
    @RequestSignal() signal: AbortSignal,
  ): Promise<Reply> {
    return published(await this.publishing.release(scope, id, dto, signal));
  }

  /** List the releases of an item, newest first */
  @Get(':store_item_id/releases')
  @RequireRoleInAnyWorkspace('viewer')
  @ApiOkResponse({ type: StoreReleasePageDto })
  listReleases(
    @CurrentScope() scope: OrgScope,
    @Param('store_item_id') id: string,
    @Query() query: OrderedListQueryDto,
  ): Promise<Page<StoreReleaseDto>> {
    return this.items.listReleases(scope, id, query);
  }
}

const published = (item: Versioned<PublisherItemDto>): Reply =>
  created(`${PATH}/${item.view.store_item_id}`, item);
