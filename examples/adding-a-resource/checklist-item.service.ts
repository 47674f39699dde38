import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { patchMetadata, type Versioned } from '#platform/http';
import { newId } from '#platform/ids';
import { toRawJson } from '#platform/json';
import type { Page } from '#platform/paging';
import { type ResourceKind, ResourceKit, stamps, WorkspaceResourceService } from '../../src/resources';
import {
  type ChecklistItemDto,
  type ChecklistItemListQueryDto,
  type CreateChecklistItemDto,
  type PatchChecklistItemDto,
  toChecklistItemDto,
} from './checklist-item.dto';
import type { ChecklistItemEntity } from './checklist-item.entity';
import { ChecklistItemRepository } from './checklist-item.repository';

const CHECKLIST_ITEM: ResourceKind<ChecklistItemEntity, ChecklistItemDto> = {
  noun: 'checklist item',
  id: 'item_id',
  generation: 'generation',
  immutable: ['item_id'],
  unique: { constraint: 'checklist_items_name', field: 'name' },
  toView: toChecklistItemDto,
};

/** Inherits `get`, `archive`, `restore` and `delete`. */
@Injectable()
export class ChecklistItemService extends WorkspaceResourceService<ChecklistItemEntity, ChecklistItemDto> {
  constructor(
    kit: ResourceKit,
    private readonly items: ChecklistItemRepository,
  ) {
    super(kit, items, CHECKLIST_ITEM);
  }

  create(scope: Scope, dto: CreateChecklistItemDto): Promise<Versioned<ChecklistItemDto>> {
    return this.createIn(scope, dto.workspace_id, () => ({
      ...stamps(scope),
      item_id: newId('item'),
      workspace_id: scope.workspaceId,
      name: dto.name,
      is_required: dto.is_required ?? true,
      metadata: toRawJson(dto.metadata ?? {}),
      generation: 1,
    }));
  }

  async list(scope: Scope, query: ChecklistItemListQueryDto): Promise<Page<ChecklistItemDto>> {
    return this.page(await this.items.list(scope, query));
  }

  patch(
    scope: Scope,
    id: string,
    dto: PatchChecklistItemDto,
    ifMatch?: string,
  ): Promise<Versioned<ChecklistItemDto>> {
    return this.change(scope, id, dto, ifMatch, (row) => ({
      name: dto.name,
      is_required: dto.is_required,
      metadata: patchMetadata(row.metadata, dto.metadata),
    }));
  }
}
