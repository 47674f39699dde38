import { Body, Controller, Get, Param, Patch, Post, Query } from '@nestjs/common';
import { ApiCreatedResponse, ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { CurrentScope, RequireRole, RequireWorkspace, type Scope } from '#platform/auth';
import { created, IfMatch, type Reply, type Versioned } from '#platform/http';
import type { Page } from '#platform/paging';
import { LifecycleController } from '../../src/resources';
import {
  ChecklistItemDto,
  ChecklistItemListQueryDto,
  ChecklistItemPageDto,
  CreateChecklistItemDto,
  PatchChecklistItemDto,
} from './checklist-item.dto';
import { ChecklistItemService } from './checklist-item.service';

@ApiTags('Checklist')
@Controller('eval/v1/checklist-items')
@RequireWorkspace()
export class ChecklistItemController extends LifecycleController({
  param: 'item_id',
  view: ChecklistItemDto,
  access: RequireRole('evaluator'),
  archive: { summary: 'Archive a checklist item' },
  restore: { summary: 'Restore an archived checklist item' },
  delete: { summary: 'Delete an archived checklist item', access: RequireRole('admin') },
}) {
  constructor(private readonly items: ChecklistItemService) {
    super(items);
  }

  /** Create a checklist item */
  @Post()
  @RequireRole('editor')
  @ApiCreatedResponse({ type: ChecklistItemDto })
  async create(@CurrentScope() scope: Scope, @Body() dto: CreateChecklistItemDto): Promise<Reply> {
    const item = await this.items.create(scope, dto);
    return created(`/eval/v1/checklist-items/${item.view.item_id}`, item);
  }

  /** List checklist items */
  @Get()
  @RequireRole('viewer')
  @ApiOkResponse({ type: ChecklistItemPageDto })
  list(
    @CurrentScope() scope: Scope,
    @Query() query: ChecklistItemListQueryDto,
  ): Promise<Page<ChecklistItemDto>> {
    return this.items.list(scope, query);
  }

  /** Get a checklist item */
  @Get(':item_id')
  @RequireRole('viewer')
  @ApiOkResponse({ type: ChecklistItemDto })
  get(@CurrentScope() scope: Scope, @Param('item_id') id: string): Promise<Versioned<ChecklistItemDto>> {
    return this.items.get(scope, id);
  }

  /** Update a checklist item */
  @Patch(':item_id')
  @RequireRole('editor')
  @ApiOkResponse({ type: ChecklistItemDto })
  patch(
    @CurrentScope() scope: Scope,
    @Param('item_id') id: string,
    @Body() dto: PatchChecklistItemDto,
    @IfMatch() ifMatch?: string,
  ): Promise<Versioned<ChecklistItemDto>> {
    return this.items.patch(scope, id, dto, ifMatch);
  }
}
