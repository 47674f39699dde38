import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { Database, inChunks, type Tx } from '#platform/db';
import type { IncomingRequest } from '#platform/http';
import { problem } from '#platform/problem';
import { FairLimiter } from '#platform/concurrency';
import { DatasetSchemas, NO_SCHEMAS, type SchemaMembers } from '../../datasets/dataset-schemas';
import type { DatasetEntity } from '../../datasets/dataset.entity';
import { checkLive } from '../../../../resources';
import { DatasetService } from '../../datasets/dataset.service';
import type { OnConflict } from '../record.dto';
import { type ExistingRecord, RecordRepository } from '../record.repository';
import { RecordWriteRepository } from '../record-write.repository';
import type { RecordImportDto, RecordImportQueryDto } from '../record-transfer.dto';
import { type CheckedImport, checkImport, conflictOf, FAULTS_MAX, faultsOfLine } from './import-check';
import { type ImportSource, pointerOf } from './import-source';
import { type ImportRequest, ImportSources } from './import-request';
import { ImportWriter, SchemasViolated } from './import-writer';

/**
 * Maximum number of concurrent imports of an organization in a process. One more can run for other organizations. More would
 * take all database connections.
 */
const IMPORTS_AT_ONCE = 2;
/** Maximum number of waiting imports. Each has a body of up to 32 MiB on disk. */
const IMPORTS_WAITING = 50;

/** Imports records into datasets. */
@Injectable()
export class RecordImportService {
  private readonly limiter = new FairLimiter({
    share: IMPORTS_AT_ONCE,
    maxWaiting: IMPORTS_WAITING,
  });

  constructor(
    private readonly database: Database,
    private readonly datasets: DatasetService,
    private readonly schemas: DatasetSchemas,
    private readonly records: RecordRepository,
    private readonly writes: RecordWriteRepository,
    private readonly sources: ImportSources,
  ) {}

  /**
   * Imports up to 100,000 records in one transaction: all of them or none. The records are read twice: once to check
   * them, and again, with the dataset locked, to write them. Errors: 400 with the faulty lines, 404 for an unknown dataset
   * or version, 409 for an archived dataset, or with the lines whose `external_id` is taken, 422 with the lines that have
   * an unknown value, 503 when too many imports wait.
   */
  async import(
    scope: Scope,
    datasetId: string,
    body: IncomingRequest,
    query: RecordImportQueryDto,
    signal: AbortSignal,
  ): Promise<RecordImportDto> {
    const request = await this.sources.requestOf(scope, datasetId, body, query);
    return this.limiter.run(scope, signal, () => this.run(scope, datasetId, request, signal));
  }

  private async run(
    scope: Scope,
    datasetId: string,
    request: ImportRequest,
    signal: AbortSignal,
  ): Promise<RecordImportDto> {
    // Faults in the records come before the state of the dataset.
    const dataset = await this.datasets.findRow(scope, datasetId);
    const source = await request.open();
    const faultsOf = (records: readonly SchemaMembers[]) =>
      this.schemas.faultsOf(scope, dataset ?? NO_SCHEMAS, records, signal);
    const checked = await checkImport(source, { faultsOf, onConflict: request.onConflict });
    if (!dataset) throw problem.notFound('dataset', datasetId);
    checkLive(dataset, 'dataset');
    if (checked.conflict) throw checked.conflict;
    if (checked.values) throw checked.values;
    request.checkValues();
    try {
      return await this.database.transaction((tx) =>
        this.write(tx, scope, dataset, source, checked, request.onConflict),
      );
    } catch (error) {
      if (!(error instanceof SchemasViolated)) throw error;
      const faults = await faultsOf(error.lines.map(({ members }) => members));
      const named = error.lines.flatMap(({ line }, index) => faultsOfLine(line, faults[index]!));
      throw problem.invalidFields(named.slice(0, FAULTS_MAX));
    }
  }

  private async write(
    tx: Tx,
    scope: Scope,
    checkedAgainst: DatasetEntity,
    source: ImportSource,
    { count, lineOf, undecided }: CheckedImport,
    onConflict: OnConflict,
  ): Promise<RecordImportDto> {
    const dataset = await this.datasets.lockLive(tx, scope, checkedAgainst.dataset_id, 'update');
    checkSameSchemas(checkedAgainst, dataset);
    const find = (ids: readonly string[]) => this.records.findExisting(tx, scope, dataset.dataset_id, ids);
    const records = await inChunks([...lineOf.keys()], find);
    const existing = new Map(records.map((record) => [record.external_id, record]));
    if (onConflict === 'error' && existing.size > 0) throw conflictOf(takenIds(lineOf, existing));
    const run = {
      tx,
      scope,
      datasetId: dataset.dataset_id,
      onConflict,
      existing,
      toCreate: count - existing.size,
      undecided,
    };
    const writer = new ImportWriter(run, this.datasets, this.records, this.writes);
    for await (const lines of source.lines()) {
      for (const line of lines) await writer.add(line);
    }
    await writer.finish();
    source.checkOpen();
    return writer.counts;
  }
}

/** Throws 409 if the schemas changed after the records were checked. */
function checkSameSchemas(before: DatasetEntity, now: DatasetEntity): void {
  for (const schema of ['input_schema', 'expected_schema'] as const) {
    if (before[schema]?.text !== now[schema]?.text) {
      throw problem.conflict(
        `The dataset's ${schema} changed while the records were read. Import them again.`,
      );
    }
  }
}

/** Returns the faults of lines whose external id a live record has, in the order of the lines. */
const takenIds = (lineOf: Map<string, number>, existing: ReadonlyMap<string, ExistingRecord>) =>
  [...existing.values()]
    .map((record) => ({ line: lineOf.get(record.external_id)!, id: record.dataset_record_id }))
    .sort((a, b) => a.line - b.line)
    .map(({ line, id }) => ({
      pointer: pointerOf(line, '/external_id'),
      detail: `already belongs to another record of the dataset: ${id}`,
    }));
