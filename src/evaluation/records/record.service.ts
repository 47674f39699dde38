import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { Database } from '#platform/db';
import {
  checkIfMatch,
  checkValues,
  patchMetadata,
  validateBody,
  checkImmutable,
  type Versioned,
} from '#platform/http';
import { newId } from '#platform/ids';
import { toJsonText } from '#platform/json';
import type { ListQueryDto, Page } from '#platform/paging';
import { problem } from '#platform/problem';
import { DatasetSchemas } from '../datasets/dataset-schemas';
import { checkLive, DatasetService } from '../datasets/dataset.service';
import { checkWorkspaceOfCreate, checkWorkspaceOfPatch } from '../shared/workspace-body';
import {
  type CreateRecordDto,
  type PatchRecordDto,
  type RecordDto,
  RecordFieldsDto,
  type RecordListQueryDto,
  type RecordVersionDto,
} from './record.dto';
import type { RecordEntity } from './record.entity';
import { toRecordDto, toRecordVersionDto } from './record.mapper';
import { RecordRepository } from './record.repository';

/** What a record holds, as it is written: free-form values as parsed, everything optional decided. */
export interface RecordContent {
  input: unknown;
  expected: unknown;
  metadata: unknown;
  tags: string[];
  label: string | null;
  category: string | null;
  source_kind: string;
  source_ref: string | null;
  external_id: string | null;
}

@Injectable()
export class RecordService {
  constructor(
    private readonly database: Database,
    private readonly datasets: DatasetService,
    private readonly schemas: DatasetSchemas,
    private readonly records: RecordRepository,
  ) {}

  /** Errors: 404 without the dataset, 409 when it is archived or has the `external_id`, 400 against its schemas. */
  async create(scope: Scope, datasetId: string, dto: CreateRecordDto): Promise<Versioned<RecordDto>> {
    checkWorkspaceOfCreate(scope, dto.workspace_id);
    return this.database.transaction(async (tx) => {
      const dataset = await this.datasets.lockLive(tx, scope, datasetId, 'update');
      checkValues(dto);
      const content = contentOf(dto);
      this.schemas.checkRecord(dataset, content);
      const at = new Date();
      const revision = await this.datasets.nextRevision(tx, scope, datasetId, 1, at);
      const [row] = await this.records.insertMany(
        tx,
        scope,
        { datasetId, revision, at },
        rowsText([newRow(content)]),
      );
      return versionedView(row!);
    });
  }

  async get(scope: Scope, datasetId: string, recordId: string): Promise<Versioned<RecordDto>> {
    return versionedView(await this.find(scope, datasetId, recordId));
  }

  async list(scope: Scope, datasetId: string, query: RecordListQueryDto): Promise<Page<RecordDto>> {
    await this.datasets.get(scope, datasetId);
    const { rows, page } = await this.records.list(scope, datasetId, query);
    return { items: rows.map(toRecordDto), page };
  }

  async listVersions(
    scope: Scope,
    datasetId: string,
    recordId: string,
    query: ListQueryDto,
  ): Promise<Page<RecordVersionDto>> {
    await this.find(scope, datasetId, recordId);
    const { rows, page } = await this.records.listVersions(scope, recordId, query);
    return { items: rows.map(toRecordVersionDto), page };
  }

  async getVersion(
    scope: Scope,
    datasetId: string,
    recordId: string,
    version: number,
  ): Promise<Versioned<RecordVersionDto>> {
    await this.find(scope, datasetId, recordId);
    const row = await this.records.findVersion(scope, recordId, version);
    if (!row) throw problem.notFound('record version', String(version));
    return { view: toRecordVersionDto(row), version: row.version };
  }

  /** Every patch that changes something is a new version; one that changes nothing answers the present one. */
  async patch(
    scope: Scope,
    datasetId: string,
    recordId: string,
    dto: PatchRecordDto,
    ifMatch?: string,
  ): Promise<Versioned<RecordDto>> {
    return this.database.transaction(async (tx) => {
      const dataset = await this.datasets.lock(tx, scope, datasetId, 'update');
      const row = await this.records.lock(tx, scope, recordId, 'update');
      if (!row || row.dataset_id !== datasetId) throw problem.notFound('record', recordId);
      const content = patchedContent(row, dto);
      checkIfMatch(ifMatch, row.version);
      checkLive(dataset);
      if (row.archived_at) throw problem.conflict('The record is archived and takes no changes.');
      checkWorkspaceOfPatch(scope, dto.workspace_id);
      checkImmutable(row, dto, ['dataset_id', 'dataset_record_id']);
      checkValues(dto);
      if (sameContent(row, content)) return versionedView(row);
      this.schemas.checkRecord(dataset, content, row);
      const at = new Date();
      const revision = await this.datasets.nextRevision(tx, scope, datasetId, 0, at);
      const rows = rowsText([nextRow(row, content)]);
      const [updated] = await this.records.updateMany(tx, scope, { datasetId, revision, at }, rows);
      return versionedView(updated!);
    });
  }

  /** Archives a record; repeated, it answers the same. Snapshots of experiments begun before still hold it. */
  async archive(
    scope: Scope,
    datasetId: string,
    recordId: string,
    ifMatch?: string,
  ): Promise<Versioned<RecordDto>> {
    return this.database.transaction(async (tx) => {
      const dataset = await this.datasets.lock(tx, scope, datasetId, 'update');
      const row = await this.records.lock(tx, scope, recordId, 'update');
      if (!row || row.dataset_id !== datasetId) throw problem.notFound('record', recordId);
      if (row.archived_at) return versionedView(row);
      checkIfMatch(ifMatch, row.version);
      checkLive(dataset);
      const at = new Date();
      const revision = await this.datasets.nextRevision(tx, scope, datasetId, -1, at);
      const changes = { archived_at: at, updated_at: at, archived_revision: revision };
      await this.records.update(tx, scope, recordId, changes);
      return versionedView({ ...row, ...changes });
    });
  }

  private async find(scope: Scope, datasetId: string, recordId: string): Promise<RecordEntity> {
    const row = await this.records.find(scope, recordId);
    if (!row || row.dataset_id !== datasetId) throw problem.notFound('record', recordId);
    return row;
  }
}

/** Reads one item of a bulk create; throws what is wrong with it. */
export const itemContent = (item: unknown): RecordContent => contentOf(validateBody(RecordFieldsDto, item));

/** What a record holds that was written so, everything optional decided. */
export const contentOf = (dto: RecordFieldsDto): RecordContent => ({
  input: dto.input,
  expected: dto.expected ?? null,
  metadata: dto.metadata ?? {},
  tags: dto.tags ?? [],
  label: dto.label ?? null,
  category: dto.category ?? null,
  source_kind: dto.source_kind ?? 'manual',
  source_ref: dto.source_ref ?? null,
  external_id: dto.external_id ?? null,
});

function patchedContent(row: RecordEntity, dto: PatchRecordDto): RecordContent {
  const patched = <Value>(given: Value | undefined, present: Value): Value =>
    given === undefined ? present : given;
  return {
    input: patched<unknown>(dto.input, row.input),
    expected: patched<unknown>(dto.expected, row.expected),
    metadata: dto.metadata === undefined ? row.metadata : patchMetadata(row.metadata, dto.metadata),
    tags: dto.tags === undefined ? row.tags : (dto.tags ?? []),
    label: patched(dto.label, row.label),
    category: patched(dto.category, row.category),
    source_kind: patched<string>(dto.source_kind, row.source_kind),
    source_ref: patched(dto.source_ref, row.source_ref),
    external_id: patched(dto.external_id, row.external_id),
  };
}

const CONTENT_MEMBERS = [
  'input', 'expected', 'metadata', 'tags', 'label', 'category', 'source_kind', 'source_ref', 'external_id',
] as const; // prettier-ignore

/** Whether a record holds this already, also in the order of members, which is answered as it was sent. */
export const sameContent = (row: RecordEntity, content: RecordContent): boolean =>
  CONTENT_MEMBERS.every((member) => toJsonText(row[member]) === toJsonText(content[member]));

export const newRow = (content: RecordContent) => ({
  dataset_record_id: newId('rec'),
  version: 1,
  version_id: newId('ver'),
  ...content,
});

export const nextRow = (row: RecordEntity, content: RecordContent) => ({
  dataset_record_id: row.dataset_record_id,
  version: row.version + 1,
  version_id: newId('ver'),
  ...content,
});

/** Rows as the one JSON parameter of a statement. */
export const rowsText = (rows: object[]): string => toJsonText(rows);

/** An archived record gets no further version, so the number after its last one names this state of it. */
const versionedView = (row: RecordEntity): Versioned<RecordDto> => ({
  view: toRecordDto(row),
  version: row.archived_at ? row.version + 1 : row.version,
});
