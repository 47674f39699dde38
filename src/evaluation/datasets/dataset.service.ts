import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { Database, type Tx } from '#platform/db';
import { checkIfMatch, patchMetadata, checkImmutable, type Versioned } from '#platform/http';
import { newId } from '#platform/ids';
import { toRawJson } from '#platform/json';
import type { Page } from '#platform/paging';
import { problem } from '#platform/problem';
import { searchAsList } from '#platform/paging';
import {
  checkWorkspaceOfCreate,
  checkWorkspaceOfPatch,
  checkWorkspaceOfSearch,
} from '../shared/workspace-body';
import { AuditLog, changesTold, given } from '../../registry';
import { DatasetSchemas } from './dataset-schemas';
import type {
  CreateDatasetDto,
  DatasetDto,
  DatasetListQueryDto,
  DatasetSearchDto,
  PatchDatasetDto,
} from './dataset.dto';
import { toDatasetDto } from './dataset.dto';
import type { DatasetEntity } from './dataset.entity';
import { DatasetRepository } from './dataset.repository';

@Injectable()
export class DatasetService {
  constructor(
    private readonly database: Database,
    private readonly datasets: DatasetRepository,
    private readonly schemas: DatasetSchemas,
    private readonly audit: AuditLog,
  ) {}

  async create(scope: Scope, dto: CreateDatasetDto): Promise<Versioned<DatasetDto>> {
    checkWorkspaceOfCreate(scope, dto.workspace_id);
    const now = new Date();
    const row: DatasetEntity = {
      dataset_id: newId('ds'),
      workspace_id: scope.workspaceId,
      name: dto.name,
      description: dto.description ?? null,
      metadata: toRawJson(dto.metadata ?? {}),
      tags: dto.tags ?? [],
      input_schema: this.schemas.check(dto.input_schema ?? null, '/input_schema'),
      expected_schema: this.schemas.check(dto.expected_schema ?? null, '/expected_schema'),
      record_count: 0,
      latest_version: null,
      revision: 1,
      created_at: now,
      updated_at: now,
      created_by: scope.principalId,
      archived_at: null,
    };
    await this.database.transaction(async (tx) => {
      await this.datasets.insert(row, tx);
      await this.audit.record(tx, scope, {
        ...audited(row),
        action: 'create',
        changes: given({ name: row.name }),
      });
    });
    return versionedView(row);
  }

  async get(scope: Scope, id: string): Promise<Versioned<DatasetDto>> {
    const row = await this.datasets.find(scope, id);
    if (!row) throw problem.notFound('dataset', id);
    return versionedView(row);
  }

  /** The row of a dataset; null without one. */
  find(scope: Scope, id: string): Promise<DatasetEntity | null> {
    return this.datasets.find(scope, id);
  }

  async list(scope: Scope, query: DatasetListQueryDto): Promise<Page<DatasetDto>> {
    const { rows, page } = await this.datasets.list(scope, query);
    return { items: rows.map(toDatasetDto), page };
  }

  search(scope: Scope, dto: DatasetSearchDto): Promise<Page<DatasetDto>> {
    checkWorkspaceOfSearch(scope, dto.workspace_id);
    return searchAsList(dto, (query) => this.list(scope, query));
  }

  /** Errors: 404, 412 for a stale `If-Match`, 409 when archived or the name is taken, 422 for another workspace. */
  async patch(
    scope: Scope,
    id: string,
    dto: PatchDatasetDto,
    ifMatch?: string,
  ): Promise<Versioned<DatasetDto>> {
    const schemas = {
      ...(dto.input_schema !== undefined && {
        input_schema: this.schemas.check(dto.input_schema, '/input_schema'),
      }),
      ...(dto.expected_schema !== undefined && {
        expected_schema: this.schemas.check(dto.expected_schema, '/expected_schema'),
      }),
    };
    return this.database.transaction(async (tx) => {
      const row = await this.lock(tx, scope, id, 'update');
      const metadata = dto.metadata === undefined ? row.metadata : patchMetadata(row.metadata, dto.metadata);
      checkIfMatch(ifMatch, row.revision);
      checkLive(row);
      checkWorkspaceOfPatch(scope, dto.workspace_id);
      checkImmutable(row, dto, ['dataset_id']);
      const changes: Partial<DatasetEntity> = {
        revision: row.revision + 1,
        updated_at: new Date(),
        ...(dto.name !== undefined && { name: dto.name }),
        ...(dto.description !== undefined && { description: dto.description }),
        ...(dto.tags !== undefined && { tags: dto.tags ?? [] }),
        metadata,
        ...schemas,
      };
      await this.datasets.update(tx, scope, id, changes);
      const told = changesTold(row, changes, ['name', 'tags']);
      if (told.length > 0)
        await this.audit.record(tx, scope, { ...audited(row), action: 'update', changes: told });
      return versionedView({ ...row, ...changes });
    });
  }

  /** Archives a dataset; repeated, it answers the same. Its name is free again, and its records take no writes. */
  async archive(scope: Scope, id: string, ifMatch?: string): Promise<Versioned<DatasetDto>> {
    return this.database.transaction(async (tx) => {
      const row = await this.lock(tx, scope, id, 'update');
      if (row.archived_at) return versionedView(row);
      checkIfMatch(ifMatch, row.revision);
      const now = new Date();
      const changes = { archived_at: now, updated_at: now, revision: row.revision + 1 };
      await this.datasets.update(tx, scope, id, changes);
      await this.audit.record(tx, scope, { ...audited(row), action: 'archive' });
      return versionedView({ ...row, ...changes });
    });
  }

  /** Locks a dataset until the transaction ends; 404 without one. */
  async lock(tx: Tx, scope: Scope, id: string, mode: 'share' | 'update'): Promise<DatasetEntity> {
    const row = await this.datasets.lock(tx, scope, id, mode);
    if (!row) throw problem.notFound('dataset', id);
    return row;
  }

  /** The revision under which one change of the dataset's records is written. */
  nextRevision(tx: Tx, scope: Scope, id: string, recordsAdded: number, at: Date): Promise<number> {
    return this.datasets.nextRevision(tx, scope, id, recordsAdded, at);
  }

  /** The number of the dataset's next CSV version. */
  nextVersion(tx: Tx, scope: Scope, id: string, at: Date): Promise<number> {
    return this.datasets.nextVersion(tx, scope, id, at);
  }

  /** Locks a dataset that can be written to: 404 without one, 409 when it is archived. */
  async lockLive(tx: Tx, scope: Scope, id: string, mode: 'share' | 'update'): Promise<DatasetEntity> {
    const row = await this.lock(tx, scope, id, mode);
    checkLive(row);
    return row;
  }
}

/** 409 when a dataset takes no more writes. */
export function checkLive({ archived_at }: Pick<DatasetEntity, 'archived_at'>): void {
  if (archived_at) throw problem.conflict('The dataset is archived and takes no changes.');
}

const audited = (row: DatasetEntity) => ({
  type: 'dataset' as const,
  id: row.dataset_id,
  workspaceId: row.workspace_id,
});

const versionedView = (row: DatasetEntity): Versioned<DatasetDto> => ({
  view: toDatasetDto(row),
  version: row.revision,
});
