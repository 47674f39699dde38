import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { Environment } from '#platform/config';
import { Database, type Tx } from '#platform/db';
import type { IncomingRequest, SpooledFile } from '#platform/http';
import { newId } from '#platform/ids';
import { type ListQueryDto, type Page, PAGE_BYTES, toPage } from '#platform/paging';
import { orNotFound } from '#platform/problem';
import { DatasetService } from '../datasets/dataset.service';
import { AuditLog, checkLive, type Deletion, References } from '../../../resources';
import { FairLimiter } from '#platform/concurrency';
import { type CsvLayout, type CsvOptions, LayoutFault } from './csv/csv.columns';
import { CsvFault } from './csv/csv.scanner';
import { previewCsv } from './csv/csv.preview';
import { CHUNK_BYTES, type CsvContent, readCsv } from './csv/csv.reader';
import { type CsvUpload, readUpload, receiveUpload } from './dataset-upload';
import {
  type DatasetVersionDto,
  type DatasetVersionPreviewDto,
  type DatasetVersionUploadQueryDto,
  toDatasetCaseDto,
  toDatasetVersionDto,
} from './dataset-version.dto';
import {
  DatasetVersionRepository,
  type DatasetVersionRow,
  type VersionIdentity,
} from './dataset-version.repository';

/**
 * Maximum number of concurrent uploads of an organization in a process. One more can run for other organizations. More would
 * exhaust the memory of the process and its database connections.
 */
const UPLOADS_AT_ONCE = 3;
const UPLOADS_WAITING = 50;

/** The result of an upload. */
export interface UploadedVersion {
  view: DatasetVersionDto;
  /** False if the dataset already had a version with the same bytes and options. */
  isNew: boolean;
}

/** Creates and reads CSV versions of datasets. */
@Injectable()
export class DatasetVersionService {
  private readonly limiter = new FairLimiter({
    share: UPLOADS_AT_ONCE,
    maxWaiting: UPLOADS_WAITING,
  });

  constructor(
    private readonly database: Database,
    private readonly datasets: DatasetService,
    private readonly versions: DatasetVersionRepository,
    private readonly environment: Environment,
    private readonly references: References,
    private readonly audit: AuditLog,
  ) {}

  /**
   * Creates a version from a CSV file, or returns the existing version of the same file. Errors: 400 with the line for a
   * malformed file, 404 for an unknown dataset, 409 if it is archived, 503 `service_overloaded` when too many uploads wait,
   * and those of `receiveUpload` and `readUpload`.
   */
  upload(
    scope: Scope,
    datasetId: string,
    request: IncomingRequest,
    query: DatasetVersionUploadQueryDto,
    signal: AbortSignal,
  ): Promise<UploadedVersion> {
    return this.read(scope, datasetId, request, query, signal, async ({ file }, content) => {
      const identity = identityOf(datasetId, file, content);
      const same = await this.versions.findSame(scope, identity);
      if (same) return { view: toDatasetVersionDto(same), isNew: false };
      return this.store(scope, identity, file, content);
    });
  }

  /** Returns what a CSV file would become, and stores nothing. Errors: those of `upload`. */
  preview(
    scope: Scope,
    datasetId: string,
    request: IncomingRequest,
    query: DatasetVersionUploadQueryDto,
    signal: AbortSignal,
  ): Promise<DatasetVersionPreviewDto> {
    return this.read(scope, datasetId, request, query, signal, async ({ file, options }, content) => {
      const { cases, ...preview } = await previewCsv(file, options, content.layout, PAGE_BYTES);
      return { ...preview, cases: cases.map(toDatasetCaseDto), row_count: content.rowCount };
    });
  }

  /** Reads and checks an upload to a live dataset. */
  private async read<Result>(
    scope: Scope,
    datasetId: string,
    request: IncomingRequest,
    query: DatasetVersionUploadQueryDto,
    signal: AbortSignal,
    then: (upload: CsvUpload, content: CsvContent) => Promise<Result>,
  ): Promise<Result> {
    const received = await receiveUpload(request, query);
    return this.limiter.run(scope, signal, async () => {
      const upload = await readUpload(scope, received);
      const content = await readContent(upload, this.environment.BODY_LIMIT_BYTES);
      checkLive((await this.datasets.get(scope, datasetId)).view, 'dataset');
      return then(upload, content);
    });
  }

  /**
   * Installs the CSV file of a release in a locked dataset. Returns false if the dataset already has a version with the same
   * bytes and options. Errors: those of `readCsv`.
   */
  async install(
    tx: Tx,
    scope: Scope,
    datasetId: string,
    file: SpooledFile,
    options: CsvOptions,
  ): Promise<boolean> {
    const content = await readCsv(file, options, this.environment.BODY_LIMIT_BYTES);
    const identity = identityOf(datasetId, file, content);
    if (await this.versions.findSame(scope, identity, tx)) return false;
    const contentId = await this.storeContent(tx, scope, file, content);
    await this.insert(tx, scope, identity, contentId, file.size, content);
    return true;
  }

  async get(scope: Scope, datasetId: string, version: number): Promise<DatasetVersionDto> {
    return toDatasetVersionDto(await this.find(scope, datasetId, version));
  }

  async list(scope: Scope, datasetId: string, query: ListQueryDto): Promise<Page<DatasetVersionDto>> {
    await this.datasets.get(scope, datasetId);
    return toPage(await this.versions.list(scope, datasetId, query), toDatasetVersionDto);
  }

  /** Returns a version. Errors: 404 for an unknown version or dataset. */
  async find(scope: Scope, datasetId: string, version: number): Promise<DatasetVersionRow> {
    return orNotFound(await this.versions.find(scope, datasetId, version), 'dataset version', version);
  }

  /** See `DatasetVersionRepository.existingCases`. */
  existingCases(
    scope: Scope,
    { dataset_id, version }: DatasetVersionRow,
    ids: readonly string[],
  ): Promise<Map<string, number>> {
    return this.versions.existingCases(undefined, scope, dataset_id, version, ids);
  }

  /**
   * Deletes a version with its file. Its number is never used again. Errors: 404; 409 for an archived dataset, and if
   * experiments pin the version, unless `force` is set.
   */
  delete(scope: Scope, datasetId: string, version: number, { force }: Deletion): Promise<void> {
    return this.database.transaction(async (tx) => {
      const dataset = await this.datasets.lockRow(tx, scope, datasetId, 'update');
      const found = await this.versions.find(scope, datasetId, version, tx);
      const row = orNotFound(found, 'dataset version', version);
      checkLive(dataset, 'dataset');
      const { version_id } = row;
      if (!force) await this.references.checkUnused(tx, scope, 'dataset version', version_id);
      await this.versions.delete(tx, scope, row);
      await this.datasets.findLatestVersion(tx, scope, datasetId);
      const entry = { action: 'delete', type: 'dataset_version', id: version_id } as const;
      await this.audit.record(tx, scope, { ...entry, workspaceId: scope.workspaceId, changes: [] });
    });
  }

  /** Writes the content of a file and then, with the dataset locked, its version. */
  private async store(
    scope: Scope,
    identity: VersionIdentity,
    file: SpooledFile,
    content: CsvContent,
  ): Promise<UploadedVersion> {
    try {
      return await this.database.transaction(async (tx) => {
        const contentId = await this.storeContent(tx, scope, file, content);
        await this.datasets.lockLive(tx, scope, identity.dataset_id, 'update');
        file.checkOpen();
        const same = await this.versions.findSame(scope, identity, tx);
        if (same) throw new StoredMeanwhile(same);
        const row = await this.insert(tx, scope, identity, contentId, file.size, content);
        return { view: toDatasetVersionDto(row), isNew: true };
      });
    } catch (error) {
      if (!(error instanceof StoredMeanwhile)) throw error;
      return { view: toDatasetVersionDto(error.row), isNew: false };
    }
  }

  private async insert(
    tx: Tx,
    scope: Scope,
    identity: VersionIdentity,
    contentId: number,
    size: number,
    { rowCount, layout }: CsvContent,
  ): Promise<DatasetVersionRow> {
    const at = new Date();
    const row: DatasetVersionRow = {
      ...identity,
      workspace_id: scope.workspaceId,
      version: await this.datasets.nextVersion(tx, scope, identity.dataset_id, rowCount, at),
      version_id: newId('ver'),
      content_id: contentId,
      row_count: rowCount,
      columns: [...layout.columns],
      size_bytes: size,
      case_id_column: layout.caseIdColumn,
      mapping: mappingOf(layout),
      created_at: at,
      created_by: scope.principalId,
    };
    await this.versions.insert(tx, row);
    return row;
  }

  /** Stores the content of a file, and returns its key. */
  private async storeContent(
    tx: Tx,
    scope: Scope,
    file: SpooledFile,
    { caseIds, chunks }: CsvContent,
  ): Promise<number> {
    const contentId = await this.versions.newContent(tx);
    const data = file.chunks(CHUNK_BYTES, Buffer.allocUnsafeSlow(CHUNK_BYTES));
    await this.versions.insertChunks(tx, scope, contentId, chunks, data);
    if (caseIds) await this.versions.insertCases(tx, scope, contentId, caseIds);
    return contentId;
  }
}

/** Rolls back an upload, because another request has stored the same file in the meantime. */
class StoredMeanwhile extends Error {
  constructor(readonly row: DatasetVersionRow) {
    super('stored meanwhile');
  }
}

async function readContent(upload: CsvUpload, caseBytes: number): Promise<CsvContent> {
  try {
    return await readCsv(upload.file, upload.options, caseBytes);
  } catch (error) {
    if (error instanceof CsvFault) throw upload.fileProblem(`line ${error.line} ${error.detail}`);
    if (error instanceof LayoutFault) throw upload.optionsProblem(error.pointer, error.detail);
    throw error;
  }
}

const identityOf = (datasetId: string, { sha256 }: SpooledFile, { layout }: CsvContent): VersionIdentity => ({
  dataset_id: datasetId,
  sha256,
  options_sha256: createHash('sha256')
    .update(JSON.stringify([layout.caseIdColumn, ...Object.values(mappingOf(layout))]))
    .digest('hex'),
});

/** Returns the mapping of a layout in its stored form. */
const mappingOf = ({ mapping, valueColumns }: CsvLayout): DatasetVersionRow['mapping'] => ({
  ...mapping,
  ...(valueColumns.length > 0 && { value_columns: [...valueColumns] }),
});
