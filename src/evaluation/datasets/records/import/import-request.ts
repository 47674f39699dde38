import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { Environment } from '#platform/config';
import { checkValues, type IncomingRequest, readJson, type SpooledFile } from '#platform/http';
import { problem } from '#platform/problem';
import { DatasetContent } from '../../versions/dataset-reading.service';
import { CSV_MEDIA, JSON_MEDIA } from '../../versions/dataset-upload';
import {
  DatasetVersionRepository,
  type DatasetVersionRow,
  layoutOfVersion,
} from '../../versions/dataset-version.repository';
import { checkWorkspaceOfCreate } from '../../../../resources';
import type { OnConflict } from '../record.dto';
import { ImportVersionDto, type RecordImportQueryDto } from '../record-transfer.dto';
import type { Cells } from '../transfer-formats';
import { caseRows, exportedRows, namedRows } from './csv.rows';
import { CsvSource } from './csv.source';
import { type ImportSource, JsonLinesSource } from './import-source';

/**
 * Maximum size of everything but `input` and `expected` in a line, in bytes. Each of these two may be as large as a body, and
 * every exported record must fit.
 */
const REST_BYTES = 1024 * 1024;

/** A parsed request to import records. */
export interface ImportRequest {
  onConflict: OnConflict;
  /** Opens the records to import. Errors: 404 for an unknown version. */
  open(): Promise<ImportSource>;
  /** Throws 422 for an unknown enumerated value. */
  checkValues(): void;
}

/** Reads the requests of imports: JSON Lines, CSV, or the number of a CSV version. */
@Injectable()
export class ImportSources {
  constructor(
    private readonly versions: DatasetVersionRepository,
    private readonly content: DatasetContent,
    private readonly environment: Environment,
  ) {}

  /** Parses a request. Errors: 400 for a malformed JSON body or query, and for another workspace than the header's. */
  async requestOf(
    scope: Scope,
    datasetId: string,
    body: IncomingRequest,
    query: RecordImportQueryDto,
  ): Promise<ImportRequest> {
    const isCsv = body.mediaType === CSV_MEDIA;
    if (body.mediaType === JSON_MEDIA) return this.readVersionImport(scope, datasetId, body, query);
    if (query.workspace_id !== undefined && query.workspace_id !== scope.workspaceId) {
      throw problem.invalidQuery('workspace_id', 'must be the workspace that X-Service-Workspace-Id names');
    }
    const { cells } = query;
    if (cells !== undefined && !isCsv) {
      throw problem.invalidQuery('cells', 'applies only to text/csv');
    }
    const file = await body.spool();
    const source = isCsv ? this.csv(file, cells ?? 'auto') : this.jsonLines(file);
    return {
      onConflict: query.on_conflict ?? 'error',
      open: () => Promise.resolve(source),
      checkValues: () => undefined,
    };
  }

  /** Maximum size of a line of JSON Lines, in bytes. */
  get lineBytes(): number {
    return 2 * this.environment.BODY_LIMIT_BYTES + REST_BYTES;
  }

  /** Opens a file of JSON Lines. */
  jsonLines(file: SpooledFile): ImportSource {
    return new JsonLinesSource(file, this.lineBytes);
  }

  private csv(file: SpooledFile, cells: Cells): ImportSource {
    return new CsvSource(file, this.environment.BODY_LIMIT_BYTES, (columns) =>
      cells === 'json' ? exportedRows(columns) : namedRows(columns, cells),
    );
  }

  private async readVersionImport(
    scope: Scope,
    datasetId: string,
    body: IncomingRequest,
    query: RecordImportQueryDto,
  ): Promise<ImportRequest> {
    const [misplaced] = Object.entries(query).find(([, value]) => value !== undefined) ?? [];
    if (misplaced !== undefined)
      throw problem.invalidQuery(misplaced, 'must be a member of the body when the body is JSON');
    const dto = readJson(await (await body.spool()).read(), ImportVersionDto);
    checkWorkspaceOfCreate(scope, dto.workspace_id);
    return {
      onConflict: dto.on_conflict ?? 'error',
      open: async () => {
        const version = await this.versions.find(scope, datasetId, dto.dataset_version);
        if (version) return this.sourceOf(scope, version, dto.cells ?? 'auto', body);
        throw problem.unknownReference('/dataset_version', 'dataset version', String(dto.dataset_version));
      },
      checkValues: () => checkValues(dto),
    };
  }

  /** Opens a version. Copies its bytes first, so that writing the records needs no second database connection. */
  private async sourceOf(
    scope: Scope,
    version: DatasetVersionRow,
    cells: Cells,
    body: IncomingRequest,
  ): Promise<ImportSource> {
    const copy = await body.spool(this.content.bytes(scope, version));
    const readerOf = (columns: string[]) =>
      cells === 'json' ? exportedRows(columns) : caseRows(layoutOfVersion(version), cells);
    const options = { caseIdColumn: version.case_id_column, mapping: version.mapping };
    return new CsvSource(copy, version.size_bytes, readerOf, options);
  }
}
