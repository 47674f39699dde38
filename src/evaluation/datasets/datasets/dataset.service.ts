import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import type { Tx } from '#platform/db';
import { patchMetadata, type Versioned } from '#platform/http';
import { newId } from '#platform/ids';
import { toRawJson } from '#platform/json';
import { type Page, searchAsList } from '#platform/paging';
import {
  checkWorkspaceOfSearch,
  type ResourceKind,
  ResourceKit,
  stamps,
  WorkspaceResourceService,
} from '../../../resources';
import { DatasetSchemas } from './dataset-schemas';
import {
  type CreateDatasetDto,
  type DatasetDto,
  type DatasetListQueryDto,
  type DatasetSearchDto,
  type PatchDatasetDto,
  toDatasetDto,
} from './dataset.dto';
import type { DatasetEntity } from './dataset.entity';
import { DatasetRepository, type RecordChange } from './dataset.repository';

const DATASET: ResourceKind<DatasetEntity, DatasetDto> = {
  noun: 'dataset',
  type: 'dataset',
  id: 'dataset_id',
  generation: 'revision',
  immutable: ['dataset_id'],
  auditedFields: ['name', 'tags'],
  createdFields: ['name'],
  unique: { constraint: 'datasets_name', field: 'name' },
  toView: toDatasetDto,
};

/** Datasets. A dataset's revision also rises with each change of its records and CSV versions. */
@Injectable()
export class DatasetService extends WorkspaceResourceService<DatasetEntity, DatasetDto> {
  constructor(
    kit: ResourceKit,
    private readonly datasets: DatasetRepository,
    private readonly schemas: DatasetSchemas,
  ) {
    super(kit, datasets, DATASET);
  }

  /** Errors: 400 for an unusable JSON Schema, 409 for a name that is taken. */
  async create(scope: Scope, dto: CreateDatasetDto, signal: AbortSignal): Promise<Versioned<DatasetDto>> {
    const check = (schema: object | null | undefined, pointer: string) =>
      this.schemas.check(scope, schema ?? null, pointer, signal);
    const schemas = {
      input_schema: await check(dto.input_schema, '/input_schema'),
      expected_schema: await check(dto.expected_schema, '/expected_schema'),
    };
    return this.createIn(scope, dto.workspace_id, () => ({
      ...stamps(scope),
      workspace_id: scope.workspaceId,
      dataset_id: newId('ds'),
      name: dto.name,
      description: dto.description ?? null,
      metadata: toRawJson(dto.metadata ?? {}),
      tags: dto.tags ?? [],
      ...schemas,
      record_count: 0,
      latest_version: null,
      revision: 1,
    }));
  }

  async list(scope: Scope, query: DatasetListQueryDto): Promise<Page<DatasetDto>> {
    return this.page(await this.datasets.list(scope, query));
  }

  search(scope: Scope, dto: DatasetSearchDto): Promise<Page<DatasetDto>> {
    checkWorkspaceOfSearch(scope, dto.workspace_id);
    return searchAsList(dto, (query) => this.list(scope, query));
  }

  /** Errors: 400 for an unusable JSON Schema; those of every change. */
  async patch(
    scope: Scope,
    id: string,
    dto: PatchDatasetDto,
    signal: AbortSignal,
    ifMatch?: string,
  ): Promise<Versioned<DatasetDto>> {
    const { input_schema, expected_schema } = dto;
    const schemas = {
      input_schema: input_schema && (await this.schemas.check(scope, input_schema, '/input_schema', signal)),
      expected_schema:
        expected_schema && (await this.schemas.check(scope, expected_schema, '/expected_schema', signal)),
    };
    return this.change(scope, id, dto, ifMatch, (row) => ({
      name: dto.name,
      description: dto.description,
      tags: dto.tags === null ? [] : dto.tags,
      metadata: patchMetadata(row.metadata, dto.metadata),
      ...schemas,
    }));
  }

  /** Returns the row of a dataset, or null. */
  findRow(scope: Scope, id: string): Promise<DatasetEntity | null> {
    return this.datasets.find(scope, id);
  }

  /** Locks a dataset until the transaction ends. Errors: 404. */
  async lockRow(tx: Tx, scope: Scope, id: string, mode: 'share' | 'update'): Promise<DatasetEntity> {
    return this.readable(scope, await this.datasets.lock(tx, scope, id, mode), id);
  }

  /** Locks a live dataset until the transaction ends. Errors: 404, 409 when it is archived. */
  async lockLive(tx: Tx, scope: Scope, id: string, mode: 'share' | 'update'): Promise<DatasetEntity> {
    const row = await this.lockRow(tx, scope, id, mode);
    this.checkWritable(row);
    return row;
  }

  /** Begins one change of the dataset's records: raises the revision and counts the live records. */
  beginChange(tx: Tx, scope: Scope, id: string, recordsAdded: number): Promise<RecordChange> {
    return this.datasets.beginChange(tx, scope, id, recordsAdded);
  }

  /** Returns the number of the dataset's next CSV version. */
  nextVersion(tx: Tx, scope: Scope, id: string, at: Date): Promise<number> {
    return this.datasets.nextVersion(tx, scope, id, at);
  }
}
