import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import type { Tx } from '#platform/db';
import { patchMetadata, type Versioned } from '#platform/http';
import { newId } from '#platform/ids';
import { escapedToken, toRawJson, toRawJsonOrNull } from '#platform/json';
import { type Page, searchAsList } from '#platform/paging';
import { problem } from '#platform/problem';
import {
  type AcquiredFrom,
  changedColumns,
  checkLive,
  checkWorkspaceOfSearch,
  type InstalledArtifact,
  type OnConflict,
  pick,
  type ResourceKind,
  ResourceKit,
  stamps,
  WorkspaceResourceService,
} from '../../../resources';
import { DatasetSchemas } from './dataset-schemas';
import {
  BASELINES_MAX,
  type CreateDatasetDto,
  type DatasetDto,
  type DatasetListQueryDto,
  type DatasetSearchDto,
  PatchDatasetDto,
  toDatasetDto,
} from './dataset.dto';
import type { DatasetEntity } from './dataset.entity';
import { type BaselineRow, DatasetRepository, type RecordChange } from './dataset.repository';

const DATASET: ResourceKind<DatasetEntity, DatasetDto> = {
  noun: 'dataset',
  type: 'dataset',
  erasure: 'dataset',
  id: 'dataset_id',
  generation: 'revision',
  immutable: ['dataset_id'],
  auditedFields: ['name', 'tags', 'baselines'],
  createdFields: ['name', 'acquired_from'],
  unique: { constraint: 'datasets_name', field: 'name', inPaths: true },
  toView: toDatasetDto,
};

/** The members that a release overwrites in an existing copy. The others are not versioned, so the copy keeps its own. */
const INSTALLED_FIELDS = ['input_schema', 'expected_schema'] as const;

/** A copy of a published dataset, after its members were installed. */
export interface InstalledDataset {
  row: DatasetEntity;
  change: InstalledArtifact['change'];
}

/** Manages datasets. Each change of a dataset's records or CSV versions also raises the dataset's revision. */
@Injectable()
export class DatasetService extends WorkspaceResourceService<DatasetEntity, DatasetDto> {
  constructor(
    kit: ResourceKit,
    private readonly datasets: DatasetRepository,
    private readonly schemas: DatasetSchemas,
  ) {
    super(kit, datasets, DATASET);
  }

  /** Creates a dataset. Errors: 400 for an unusable JSON Schema, 409 if the name is taken, those of `patch`. */
  create(
    scope: Scope,
    dto: CreateDatasetDto,
    signal: AbortSignal,
    onConflict?: OnConflict,
  ): Promise<Versioned<DatasetDto>> {
    const create = async () => {
      await this.checkSchemas(scope, dto, null, signal);
      return this.createIn(scope, dto.workspace_id, () => newDataset(scope, dto, null));
    };
    return this.createOr(scope, onConflict, dto, create, PatchDatasetDto, (id, patch) =>
      this.patch(scope, id, patch, signal),
    );
  }

  /**
   * Creates a copy of a published dataset without its content, or updates the members of an existing copy, in the
   * caller's transaction. Errors: those of `create`.
   *
   * @param copyId the existing copy, or null to create one
   */
  async install(
    tx: Tx,
    scope: Scope,
    dto: CreateDatasetDto,
    from: AcquiredFrom,
    copyId: string | null,
  ): Promise<InstalledDataset> {
    const { signal } = new AbortController(); // The check has its own deadline.
    const copy = newDataset(scope, dto, from);
    const row = copyId === null ? null : await this.lock(tx, scope, copyId, 'update');
    if (!row) await this.checkNameFree(tx, scope, copy);
    await this.checkSchemas(scope, dto, row, signal);
    if (!row) return { row: await this.insert(tx, scope, copy), change: 'created' };
    const members = pick(copy, INSTALLED_FIELDS);
    const change = changedColumns(row, members) ? 'updated' : 'unchanged';
    return { row: await this.write(tx, scope, row, { ...members, acquired_from: from }, 'update'), change };
  }

  async list(scope: Scope, query: DatasetListQueryDto): Promise<Page<DatasetDto>> {
    return this.page(await this.datasets.list(scope, query));
  }

  search(scope: Scope, dto: DatasetSearchDto): Promise<Page<DatasetDto>> {
    checkWorkspaceOfSearch(scope, dto.workspace_id);
    return searchAsList(dto, (query) => this.list(scope, query));
  }

  /** Applies a merge patch. Errors: 400 for an unusable JSON Schema, those of `patchedBaselines`, and those of any change. */
  async patch(
    scope: Scope,
    id: string,
    dto: PatchDatasetDto,
    signal: AbortSignal,
    ifMatch?: string,
  ): Promise<Versioned<DatasetDto>> {
    await this.checkSchemas(scope, dto, null, signal);
    return this.change(scope, id, dto, ifMatch, async (row, tx) => ({
      baselines: await this.patchedBaselines(tx, scope, row, dto.baselines),
      name: dto.name,
      description: dto.description,
      tags: dto.tags === null ? [] : dto.tags,
      metadata: patchMetadata(row.metadata, dto.metadata),
      input_schema: dto.input_schema && toRawJson(dto.input_schema),
      expected_schema: dto.expected_schema && toRawJson(dto.expected_schema),
    }));
  }

  /**
   * Merges promoted experiments into the baselines. Errors: 404 naming an unknown experiment, 400 for an experiment with
   * another name or dataset and for too many names, 409 for an experiment that is archived or not completed.
   */
  private async patchedBaselines(
    tx: Tx,
    scope: Scope,
    { dataset_id, baselines }: DatasetEntity,
    patch: PatchDatasetDto['baselines'],
  ): Promise<Record<string, string> | undefined> {
    if (patch === undefined) return undefined;
    const entries = Object.entries(patch ?? {});
    const ids = entries.flatMap(([, id]) => id ?? []);
    const experiments = await this.datasets.lockExperiments(tx, scope, ids);
    const merged = new Map(patch === null ? [] : Object.entries(baselines));
    for (const [name, id] of entries) {
      if (id === null) merged.delete(name);
      else merged.set(name, checkBaseline(experiments.get(id), id, name, dataset_id));
    }
    if (merged.size > BASELINES_MAX) {
      const detail = `must have at most ${BASELINES_MAX} names after the merge`;
      throw problem.invalidField('/baselines', detail);
    }
    return Object.fromEntries(merged);
  }

  /**
   * Throws 400 for an unusable JSON Schema.
   *
   * @param row the existing dataset, whose current schemas are not checked again, or null
   */
  private async checkSchemas(
    scope: Scope,
    dto: CreateDatasetDto | PatchDatasetDto,
    row: DatasetEntity | null,
    signal: AbortSignal,
  ): Promise<void> {
    for (const member of ['input_schema', 'expected_schema'] as const) {
      const schema = toRawJsonOrNull(dto[member]);
      if (schema === null || schema.text === row?.[member]?.text) continue;
      await this.schemas.check(scope, schema, `/${member}`, signal);
    }
  }

  /** Returns the row of a dataset, or null. */
  findRow(scope: Scope, id: string): Promise<DatasetEntity | null> {
    return this.datasets.find(scope, id);
  }

  /** Returns the row of a live dataset. Errors: 404, 409 when it is archived. */
  async findLive(scope: Scope, id: string): Promise<DatasetEntity> {
    const row = await this.find(scope, id);
    this.checkWritable(row);
    return row;
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

  /** Returns the number of the dataset's next CSV version, which has this many rows. */
  nextVersion(tx: Tx, scope: Scope, id: string, rowCount: number, at: Date): Promise<number> {
    return this.datasets.nextVersion(tx, scope, id, rowCount, at);
  }

  /** Finds the newest CSV version of a locked dataset again after one was deleted. */
  findLatestVersion(tx: Tx, scope: Scope, id: string): Promise<void> {
    return this.datasets.findLatestVersion(tx, scope, id);
  }
}

/** Returns the id of an experiment that can be promoted. Errors: those of `patchedBaselines`. */
function checkBaseline(
  experiment: BaselineRow | undefined,
  id: string,
  name: string,
  datasetId: string,
): string {
  const pointer = `/baselines/${escapedToken(name)}`;
  if (!experiment) throw problem.unknownReference(pointer, 'experiment', id);
  if (experiment.dataset_id !== datasetId) {
    throw problem.invalidField(pointer, 'must be an experiment over this dataset');
  }
  if (experiment.name !== name) {
    const detail = `must be an experiment with this name, but ${id} has another name`;
    throw problem.invalidField(pointer, detail);
  }
  checkLive(experiment, 'experiment');
  if (experiment.experiment_status !== 'completed') {
    throw problem.conflict(
      `The experiment ${id} is ${experiment.experiment_status}. Only completed experiments can be baselines.`,
    );
  }
  return id;
}

const newDataset = (scope: Scope, dto: CreateDatasetDto, from: AcquiredFrom | null): DatasetEntity => ({
  ...stamps(scope),
  workspace_id: scope.workspaceId,
  dataset_id: newId('ds'),
  name: dto.name,
  description: dto.description ?? null,
  metadata: toRawJson(dto.metadata ?? {}),
  tags: dto.tags ?? [],
  input_schema: toRawJsonOrNull(dto.input_schema),
  expected_schema: toRawJsonOrNull(dto.expected_schema),
  record_count: 0,
  row_count: null,
  latest_version: null,
  baselines: {},
  revision: 1,
  acquired_from: from,
});
