import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { Database, type SqlExecutor, type Tx } from '#platform/db';
import { checkIfMatch, checkImmutable, checkValues, valueErrors, Versioned } from '#platform/http';
import { type ListQueryDto, type Page, toPage } from '#platform/paging';
import { type Problem, problem, orNotFound } from '#platform/problem';
import {
  AuditLog,
  checkLive,
  checkNotMoved,
  checkWorkspaceOfCreate,
  type Deletion,
  References,
  versionEtag,
} from '../../../resources';
import {
  DatasetSchemas,
  NO_SCHEMAS,
  type RecordCheck,
  type RecordSchemas,
} from '../datasets/dataset-schemas';
import type { DatasetEntity } from '../datasets/dataset.entity';
import { DatasetService } from '../datasets/dataset.service';
import { contentOf, patchedContent, type RecordContent, sameContent, versionOf } from './record-content';
import {
  type CreateRecordDto,
  type PatchRecordDto,
  type RecordDto,
  type RecordListQueryDto,
  type RecordVersionDto,
  toRecordDto,
  toRecordVersionDto,
} from './record.dto';
import type { RecordEntity } from './record.entity';
import { RecordRepository } from './record.repository';
import { RecordWriteRepository } from './record-write.repository';

/** A record and its dataset, both locked. */
interface LockedRecord {
  dataset: DatasetEntity;
  row: RecordEntity;
}

/** Reads and changes the records of datasets. Each change of a record raises the revision of its dataset. */
@Injectable()
export class RecordService {
  constructor(
    private readonly database: Database,
    private readonly datasets: DatasetService,
    private readonly schemas: DatasetSchemas,
    private readonly records: RecordRepository,
    private readonly writes: RecordWriteRepository,
    private readonly references: References,
    private readonly audit: AuditLog,
  ) {}

  /**
   * Creates a record. Errors: 404 for an unknown dataset, 409 if it is archived or already has the `external_id`, 400 if the
   * record violates its schemas.
   */
  async create(
    scope: Scope,
    datasetId: string,
    dto: CreateRecordDto,
    signal: AbortSignal,
  ): Promise<Versioned<RecordDto>> {
    checkWorkspaceOfCreate(scope, dto.workspace_id);
    if (valueErrors(dto, '').length > 0) {
      await this.datasets.findLive(scope, datasetId);
      checkValues(dto);
    }
    const content = contentOf(dto);
    let schemas = NO_SCHEMAS;
    return this.schemas.withCheck(scope, signal, async (check) => {
      checkSchemas(check, schemas, content);
      const written = await this.writes.appendOne(scope, datasetId, schemas, versionOf(content), signal);
      if (written) return versioned(written);
      schemas = await this.datasets.findLive(scope, datasetId);
      checkSchemas(check, schemas, content);
      await this.checkFree(this.database, scope, datasetId, content.external_id);
      return null;
    });
  }

  async get(scope: Scope, datasetId: string, recordId: string): Promise<Versioned<RecordDto>> {
    return versioned(await this.find(scope, datasetId, recordId));
  }

  async list(scope: Scope, datasetId: string, query: RecordListQueryDto): Promise<Page<RecordDto>> {
    const { record_count } = await this.datasets.find(scope, datasetId);
    return toPage(await this.records.list(scope, datasetId, query, record_count), toRecordDto);
  }

  async listVersions(
    scope: Scope,
    datasetId: string,
    recordId: string,
    query: ListQueryDto,
  ): Promise<Page<RecordVersionDto>> {
    await this.find(scope, datasetId, recordId);
    return toPage(await this.records.listVersions(scope, recordId, query), toRecordVersionDto);
  }

  async getVersion(
    scope: Scope,
    datasetId: string,
    recordId: string,
    version: number,
  ): Promise<Versioned<RecordVersionDto>> {
    await this.find(scope, datasetId, recordId);
    const row = orNotFound(
      await this.records.findVersion(scope, recordId, version),
      'record version',
      version,
    );
    return new Versioned(toRecordVersionDto(row), row.version);
  }

  /** Changes a record, which creates a new version. A patch that changes nothing creates none. */
  patch(
    scope: Scope,
    datasetId: string,
    recordId: string,
    dto: PatchRecordDto,
    signal: AbortSignal,
    ifMatch?: string,
  ): Promise<Versioned<RecordDto>> {
    return this.schemas.withCheck(scope, signal, (check) =>
      this.database.transaction(async (tx) => {
        const { dataset, row } = await this.lock(tx, scope, datasetId, recordId);
        const content = patchedContent(row, dto);
        checkIfMatch(ifMatch, etagOf(row));
        checkLive(dataset, 'dataset');
        checkLive(row, 'record');
        checkNotMoved(row, dto.workspace_id);
        checkImmutable(row, dto, ['dataset_id', 'dataset_record_id']);
        checkValues(dto);
        if (sameContent(row, content)) return versioned(row);
        checkSchemas(check, dataset, content, row);
        if (content.external_id !== row.external_id) {
          await this.checkFree(tx, scope, datasetId, content.external_id);
        }
        const change = await this.datasets.beginChange(tx, scope, datasetId, 0);
        const rows = [versionOf(content, row)];
        const [updated] = await this.writes.update(tx, scope, change, rows, { isReturning: true });
        return versioned(updated!);
      }),
    );
  }

  /** Archives a record. Idempotent. Snapshots of earlier experiments keep it. */
  archive(scope: Scope, datasetId: string, id: string, ifMatch?: string): Promise<Versioned<RecordDto>> {
    return this.setArchived(scope, datasetId, id, true, ifMatch);
  }

  /**
   * Restores an archived record. Idempotent. Errors: 404, 412, and 409 when its dataset is
   * archived or its `external_id` has been taken.
   */
  restore(scope: Scope, datasetId: string, id: string, ifMatch?: string): Promise<Versioned<RecordDto>> {
    return this.setArchived(scope, datasetId, id, false, ifMatch);
  }

  /**
   * Deletes a record with all its versions. Errors: 404; 412; 409 for an archived dataset, and if experiments use the record,
   * unless `force` is set.
   */
  delete(scope: Scope, datasetId: string, id: string, { force, ifMatch }: Deletion): Promise<void> {
    return this.database.transaction(async (tx) => {
      const { dataset, row } = await this.lock(tx, scope, datasetId, id);
      checkIfMatch(ifMatch, etagOf(row));
      checkLive(dataset, 'dataset');
      if (!force) await this.references.checkUnused(tx, scope, 'record', id);
      await this.records.deleteMany(tx, scope.workspaceId, [id]);
      const entry = { action: 'delete', type: 'record', id } as const;
      await this.audit.record(tx, scope, { ...entry, workspaceId: scope.workspaceId, changes: [] });
    });
  }

  private setArchived(
    scope: Scope,
    datasetId: string,
    id: string,
    isArchived: boolean,
    ifMatch?: string,
  ): Promise<Versioned<RecordDto>> {
    return this.database.transaction(async (tx) => {
      const { dataset, row } = await this.lock(tx, scope, datasetId, id);
      if ((row.archived_at !== null) === isArchived) return versioned(row);
      checkIfMatch(ifMatch, etagOf(row));
      checkLive(dataset, 'dataset');
      if (!isArchived) await this.checkFree(tx, scope, datasetId, row.external_id);
      const change = await this.datasets.beginChange(tx, scope, datasetId, isArchived ? -1 : 1);
      await this.records.setArchived(tx, scope, [id], isArchived, change);
      return versioned({ ...row, archived_at: isArchived ? change.at : null, updated_at: change.at });
    });
  }

  private async lock(tx: Tx, scope: Scope, datasetId: string, recordId: string): Promise<LockedRecord> {
    const dataset = await this.datasets.lockRow(tx, scope, datasetId, 'update');
    const row = await this.records.lock(tx, scope, recordId, 'update');
    return { dataset, row: checkBelongs(datasetId, recordId, row) };
  }

  private async find(scope: Scope, datasetId: string, recordId: string): Promise<RecordEntity> {
    return checkBelongs(datasetId, recordId, await this.records.find(scope, recordId));
  }

  /** Throws 409 if a live record of the dataset has the external id. */
  private async checkFree(
    on: SqlExecutor,
    scope: Scope,
    datasetId: string,
    externalId: string | null,
  ): Promise<void> {
    if (externalId === null) return;
    const [existing] = await this.records.findExisting(on, scope, datasetId, [externalId]);
    if (existing) throw externalIdTaken(existing.dataset_record_id);
  }
}

/** Returns the 409 for an `external_id` that a live record of the dataset has. */
export const externalIdTaken = (recordId: string): Problem =>
  problem.conflict(
    `The record ${recordId} already has this external_id. An external_id is unique within a dataset.`,
  );

/** Throws 400 with the violations of the dataset's schemas. */
function checkSchemas(
  check: RecordCheck,
  schemas: RecordSchemas,
  content: RecordContent,
  before?: RecordEntity,
): void {
  const faults = check.faultsIn(schemas, content, before);
  check.finish();
  if (faults.length > 0) throw problem.invalidFields(faults);
}

/** Throws 404 unless the record belongs to the dataset. */
function checkBelongs(datasetId: string, recordId: string, row: RecordEntity | null): RecordEntity {
  if (row?.dataset_id !== datasetId) throw problem.notFound('record', recordId);
  return row;
}

const etagOf = (row: RecordEntity): string => versionEtag(row, row.version);

const versioned = (row: RecordEntity): Versioned<RecordDto> => new Versioned(toRecordDto(row), etagOf(row));
