import { Body, Controller, Get, HttpCode, Param, Post, Query } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import {
  AllowedBy,
  CurrentPrincipal,
  CurrentScope,
  type Principal,
  RequireRole,
  RequireWorkspace,
  type Scope,
} from '#platform/auth';
import type { Page } from '#platform/paging';
import { Throws } from '#platform/problem';
import {
  AnnotationItemDto,
  AnnotationItemListQueryDto,
  AnnotationItemPageDto,
  AnnotatorDto,
  AnnotatorListQueryDto,
  AnnotatorPageDto,
  ItemOutcomeDto,
  ClaimResponseDto,
  ClaimItemDto,
  ScoreItemDto,
  SkipItemDto,
} from './annotation-item.dto';
import { AnnotationItemService } from './annotation-item.service';

@ApiTags('Annotation queues')
@Controller('eval/v1/annotation-queues/:queue_id')
@RequireWorkspace()
export class AnnotationItemController {
  constructor(private readonly items: AnnotationItemService) {}

  /**
   * Claim the next item of an annotation queue
   *
   * @remarks Claims an item for the caller for 15 minutes. A service account with the role `admin` can claim items for other people, whose names it sends as `author`, up to 100 at a time (429). A person who has not finished an item gets it again, for another 15 minutes. An expired claim stays valid until somebody else takes the item. `item` is null if there is nothing to do; `reason` says why.
   */
  @Post('next')
  @HttpCode(200)
  @Throws('conflict', 'forbidden')
  @RequireRole('annotator')
  @ApiOkResponse({ type: ClaimResponseDto })
  next(
    @CurrentScope() scope: Scope,
    @Param('queue_id') queueId: string,
    @Body() dto: ClaimItemDto,
    @CurrentPrincipal() principal: Principal,
  ): Promise<ClaimResponseDto> {
    return this.items.next(scope, queueId, dto, principal);
  }

  /** List the items of an annotation queue in the order of work */
  @Get('items')
  @RequireRole('viewer')
  @ApiOkResponse({ type: AnnotationItemPageDto })
  list(
    @CurrentScope() scope: Scope,
    @Param('queue_id') queueId: string,
    @Query() query: AnnotationItemListQueryDto,
  ): Promise<Page<AnnotationItemDto>> {
    return this.items.list(scope, queueId, query);
  }

  /** List the people who work on an annotation queue */
  @Get('annotators')
  @RequireRole('viewer')
  @ApiOkResponse({ type: AnnotatorPageDto })
  listAnnotators(
    @CurrentScope() scope: Scope,
    @Param('queue_id') queueId: string,
    @Query() query: AnnotatorListQueryDto,
  ): Promise<Page<AnnotatorDto>> {
    return this.items.listAnnotators(scope, queueId, query);
  }

  /**
   * Score an item of an annotation queue
   *
   * @remarks Answers all scorers of the queue at once. Each answer becomes a human score, as if it were recorded with `POST /eval/v1/scores`. An expired claim still counts unless somebody else has taken the item (409).
   */
  @Post('items/:item_id/scores')
  @AllowedBy('scores')
  @HttpCode(200)
  @Throws('conflict', 'forbidden', 'validation_failed')
  @RequireRole('annotator')
  @ApiOkResponse({ type: ItemOutcomeDto })
  score(
    @CurrentScope() scope: Scope,
    @Param('queue_id') queueId: string,
    @Param('item_id') itemId: string,
    @Body() dto: ScoreItemDto,
    @CurrentPrincipal() principal: Principal,
  ): Promise<ItemOutcomeDto> {
    return this.items.score(scope, queueId, itemId, dto, principal);
  }

  /**
   * Skip an item of an annotation queue
   *
   * @remarks The item goes to another person. It is not offered to you again, but you can still score it.
   */
  @Post('items/:item_id/skip')
  @HttpCode(200)
  @Throws('conflict', 'forbidden')
  @RequireRole('annotator')
  @ApiOkResponse({ type: ItemOutcomeDto })
  skip(
    @CurrentScope() scope: Scope,
    @Param('queue_id') queueId: string,
    @Param('item_id') itemId: string,
    @Body() dto: SkipItemDto,
    @CurrentPrincipal() principal: Principal,
  ): Promise<ItemOutcomeDto> {
    return this.items.skip(scope, queueId, itemId, dto, principal);
  }
}
