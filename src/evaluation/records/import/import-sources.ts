import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { Environment } from '#platform/config';
import {
  checkValues,
  mediaTypeOf,
  parseBody,
  type SpooledFile,
  type SpooledRequest,
  validateBody,
} from '#platform/http';
import { problem } from '#platform/problem';
import { DatasetContent } from '../../dataset-versions/dataset-content';
import { CSV_MEDIA, JSON_MEDIA } from '../../dataset-versions/dataset-upload';
import type { DatasetVersionRow } from '../../dataset-versions/dataset-version.entity';
import { DatasetVersionRepository } from '../../dataset-versions/dataset-version.repository';
import { checkWorkspaceOfCreate } from '../../shared/workspace-body';
import type { OnConflict } from '../record.dto';
import { ImportVersionDto, type RecordImportQueryDto } from '../record-transfer.dto';
import { CsvSource } from './csv.source';
import type { ImportSource } from './import-source';
import { JsonLinesSource } from './json-lines.source';
import { caseRows, exportedRows, isExport } from './row-readers';

/**
 * What a line has room for besides `input` and `expected`, each of which may have come with a body of its own, so that
 * whatever is exported fits.
 */
const REST_BYTES = 1024 * 1024;

/** What an import asks for. */
export interface ImportRequest {
  onConflict: OnConflict;
  /** Opens what is to be imported. Error: 404 for a version that the dataset does not have. */
  open(): Promise<ImportSource>;
  /** 422 for a value that is not one of those known. */
  checkValues(): void;
}

/** Finds out in which form records come in. */
@Injectable()
export class ImportSources {
  constructor(
    private readonly versions: DatasetVersionRepository,
    private readonly content: DatasetContent,
    private readonly environment: Environment,
  ) {}

  /** Errors: 400 for a JSON body, or a query, of the wrong form; 400 for another workspace than the header's. */
  async requestOf(
    scope: Scope,
    datasetId: string,
    body: SpooledRequest,
    query: RecordImportQueryDto,
  ): Promise<ImportRequest> {
    const media = mediaTypeOf({ headers: { 'content-type': body.contentType } });
    if (media === JSON_MEDIA) return this.ofVersion(scope, datasetId, body.file, query);
    if (query.workspace_id !== undefined && query.workspace_id !== scope.workspaceId) {
      throw problem.invalidQuery('workspace_id', 'must be the workspace that X-Service-Workspace-Id names');
    }
    const most = this.environment.BODY_LIMIT_BYTES;
    const source =
      media === CSV_MEDIA
        ? new CsvSource(body.file, most, exportedRows)
        : new JsonLinesSource(body.file, 2 * most + REST_BYTES);
    return {
      onConflict: query.on_conflict ?? 'error',
      open: () => Promise.resolve(source),
      checkValues: () => undefined,
    };
  }

  private async ofVersion(
    scope: Scope,
    datasetId: string,
    body: SpooledFile,
    query: RecordImportQueryDto,
  ): Promise<ImportRequest> {
    const [misplaced] = Object.entries(query).find(([, value]) => value !== undefined) ?? [];
    if (misplaced !== undefined) throw problem.invalidQuery(misplaced, 'is a member of a JSON body');
    const dto = validateBody(ImportVersionDto, parseBody(await body.read()));
    checkWorkspaceOfCreate(scope, dto.workspace_id);
    return {
      onConflict: dto.on_conflict ?? 'error',
      open: async () => {
        const version = await this.versions.find(scope, datasetId, dto.dataset_version);
        if (version) return this.sourceOf(scope, version, body);
        throw problem.unknownReference('/dataset_version', 'dataset version', String(dto.dataset_version));
      },
      checkValues: () => checkValues(dto),
    };
  }

  /** Copies the bytes of a version, so that they are read without the database while records are written to it. */
  private async sourceOf(scope: Scope, version: DatasetVersionRow, body: SpooledFile): Promise<ImportSource> {
    const copy = await body.createPart();
    for await (const bytes of this.content.bytes(scope, version)) await copy.append(bytes);
    copy.finish();
    const { columns, case_id_column: caseIdColumn, mapping } = version;
    const layout = { columns, caseIdColumn, mapping };
    return new CsvSource(copy, version.size_bytes, (names) =>
      isExport(layout) ? exportedRows(names) : caseRows(layout),
    );
  }
}
