import { Body, Controller, Get, HttpCode, Param, Post, Query } from '@nestjs/common';
import { ApiCreatedResponse, ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { Throws } from '#platform/problem';
import { CurrentScope, type OrgScope, RequireRoleSomewhere } from '#platform/auth';
import { created, Reply, RequestBody, RequestSignal, TakesAsLongAsImports } from '#platform/http';
import type { Page } from '#platform/paging';
import {
  AcquireStoreItemDto,
  AcquisitionDto,
  AcquisitionListQueryDto,
  AcquisitionPageDto,
  UpgradeAcquisitionDto,
  UpgradedAcquisitionDto,
} from './acquisition.dto';
import { AcquisitionService } from './acquisition.service';

@ApiTags('Store')
@Controller('store/v1')
export class AcquisitionController {
  constructor(private readonly acquisitions: AcquisitionService) {}

  /**
   * Acquire an item by installing copies of everything in its package
   *
   * @remarks Returns 200 with the existing acquisition if the workspace has acquired the item before. Returns 403 `forbidden` if the publisher does not allow it or if `actions` lacks `install`. Returns 409 if another resource of the workspace has the name of a copy, or if the workspace has a release other than `release_id`. In the second case, upgrade the acquisition.
   */
  @Post('items/:store_item_id/acquire')
  @Throws('forbidden', 'storage_unavailable')
  @RequireRoleSomewhere('editor')
  @TakesAsLongAsImports()
  @ApiCreatedResponse({ type: AcquisitionDto })
  @ApiOkResponse({ type: AcquisitionDto, description: 'The workspace had acquired the item before.' })
  async create(
    @CurrentScope() scope: OrgScope,
    @Param('store_item_id') id: string,
    @Body() dto: AcquireStoreItemDto,
    @RequestSignal() signal: AbortSignal,
  ): Promise<Reply> {
    const { view, isNew } = await this.acquisitions.acquire(scope, id, dto, signal);
    return isNew ? created(`/store/v1/acquisitions/${view.acquisition_id}`, view) : new Reply(200, view);
  }

  /** List acquisitions, newest first */
  @Get('acquisitions')
  @RequireRoleSomewhere('viewer')
  @ApiOkResponse({ type: AcquisitionPageDto })
  list(
    @CurrentScope() scope: OrgScope,
    @Query() query: AcquisitionListQueryDto,
  ): Promise<Page<AcquisitionDto>> {
    return this.acquisitions.list(scope, query);
  }

  /** Get an acquisition */
  @Get('acquisitions/:acquisition_id')
  @RequireRoleSomewhere('viewer')
  @ApiOkResponse({ type: AcquisitionDto })
  get(@CurrentScope() scope: OrgScope, @Param('acquisition_id') id: string): Promise<AcquisitionDto> {
    return this.acquisitions.get(scope, id);
  }

  /** Upgrade an acquisition to the newest release, or to another one */
  @Post('acquisitions/:acquisition_id/upgrade')
  @Throws('forbidden', 'storage_unavailable')
  @HttpCode(200)
  @RequireRoleSomewhere('editor')
  @TakesAsLongAsImports()
  @RequestBody({ optional: true })
  @ApiOkResponse({ type: UpgradedAcquisitionDto })
  upgrade(
    @CurrentScope() scope: OrgScope,
    @Param('acquisition_id') id: string,
    @Body() dto: UpgradeAcquisitionDto,
    @RequestSignal() signal: AbortSignal,
  ): Promise<UpgradedAcquisitionDto> {
    return this.acquisitions.upgrade(scope, id, dto, signal);
  }
}
