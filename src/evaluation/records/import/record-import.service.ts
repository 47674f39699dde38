import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { Database, type Tx } from '#platform/db';
import type { SpooledRequest } from '#platform/http';
import { problem } from '#platform/problem';
import { DatasetSchemas, type HeldValues } from '../../datasets/dataset-schemas';
import type { DatasetEntity } from '../../datasets/dataset.entity';
import { checkLive, DatasetService } from '../../datasets/dataset.service';
import { FairTurns } from '#platform/turns';
import type { OnConflict } from '../record.dto';
import { RecordRepository } from '../record.repository';
import type { RecordImportDto, RecordImportQueryDto } from '../record-transfer.dto';
import { checkImport, conflictOf, type CheckedImport, schemaFaultsOf } from './import-check';
import { type ImportLine, type ImportSource, pointerOf } from './import-source';
import { type ImportRequest, ImportSources } from './import-sources';
import { ImportWriter } from './import-writer';
import { RecordImportRepository } from './record-import.repository';

/** Imports that a process writes at once; others wait, so that they do not take all connections to the database. */
const IMPORTS_AT_ONCE = 2;
/** Each with a body of up to 32 MiB on the disk. */
const IMPORTS_WAITING = 50;

/** External ids that are looked for with one statement. */
const IDS_AT_ONCE = 5_000;

@Injectable()
export class RecordImportService {
  private readonly turns = new FairTurns(IMPORTS_AT_ONCE, IMPORTS_WAITING);

  constructor(
    private readonly database: Database,
    private readonly datasets: DatasetService,
    private readonly schemas: DatasetSchemas,
    private readonly records: RecordRepository,
    private readonly imports: RecordImportRepository,
    private readonly sources: ImportSources,
  ) {}

  /**
   * Imports up to 100,000 records in one transaction: all of them or none. What is sent is read twice: once to check
   * it, and again, with the dataset locked, to write it. Errors: 400 with the lines that are wrong, 404 without the
   * dataset or the version, 409 when it is archived, or with the lines whose `external_id` is taken, 422 with the lines
   * that have an unknown value, 503 where too many imports wait. Who has gone gives up its turn.
   */
  async import(
    scope: Scope,
    datasetId: string,
    body: SpooledRequest,
    query: RecordImportQueryDto,
    signal: AbortSignal,
  ): Promise<RecordImportDto> {
    const request = await this.sources.requestOf(scope, datasetId, body, query);
    return this.turns.take(scope, signal, () => this.carryOut(scope, datasetId, request));
  }

  private async carryOut(scope: Scope, datasetId: string, request: ImportRequest): Promise<RecordImportDto> {
    const dataset = await this.datasets.find(scope, datasetId);
    const source = await request.open();
    const rules = { schemas: this.schemas, dataset, onConflict: request.onConflict };
    const checked = await checkImport(source, rules);
    if (!dataset) throw problem.notFound('dataset', datasetId);
    checkLive(dataset);
    if (checked.conflict) throw checked.conflict;
    if (checked.values) throw checked.values;
    request.checkValues();
    return this.database.transaction((tx) =>
      this.write(tx, scope, dataset, source, checked, request.onConflict),
    );
  }

  private async write(
    tx: Tx,
    scope: Scope,
    checkedAgainst: DatasetEntity,
    source: ImportSource,
    { count, lineOf, doubtful }: CheckedImport,
    onConflict: OnConflict,
  ): Promise<RecordImportDto> {
    const dataset = await this.datasets.lockLive(tx, scope, checkedAgainst.dataset_id, 'update');
    checkSameSchemas(checkedAgainst, dataset);
    const present = await this.presentSizes(tx, scope, dataset.dataset_id, [...lineOf.keys()]);
    if (onConflict === 'error' && present.size > 0) throw conflictOf(takenIds(lineOf, present.keys()));
    const run = {
      tx,
      scope,
      datasetId: dataset.dataset_id,
      onConflict,
      present,
      toCreate: count - present.size,
      faultsOf: ({ line }: ImportLine, content: HeldValues, before?: HeldValues) =>
        doubtful.has(line) ? schemaFaultsOf(line, content, { schemas: this.schemas, dataset }, before) : [],
    };
    const writer = new ImportWriter(run, this.datasets, this.records, this.imports);
    for await (const lines of source.lines()) {
      for (const line of lines) await writer.add(line);
    }
    await writer.finish();
    source.checkOpen();
    return writer.counts;
  }

  /** @returns the size of each record that is there, by its external id */
  private async presentSizes(
    tx: Tx,
    scope: Scope,
    datasetId: string,
    ids: string[],
  ): Promise<Map<string, number>> {
    const present = new Map<string, number>();
    for (let at = 0; at < ids.length; at += IDS_AT_ONCE) {
      const some = ids.slice(at, at + IDS_AT_ONCE);
      for (const { external_id, bytes } of await this.records.sizesOf(tx, scope, datasetId, some)) {
        present.set(external_id, bytes);
      }
    }
    return present;
  }
}

/** 409 where records that were held to one schema would be written under another. */
function checkSameSchemas(before: DatasetEntity, now: DatasetEntity): void {
  for (const schema of ['input_schema', 'expected_schema'] as const) {
    if (before[schema]?.text !== now[schema]?.text) {
      throw problem.conflict(
        `The dataset's ${schema} was changed while the records were read. Import them again.`,
      );
    }
  }
}

const takenIds = (lineOf: Map<string, number>, present: Iterable<string>) =>
  [...present]
    .map((id) => lineOf.get(id)!)
    .sort((a, b) => a - b)
    .map((line) => ({
      pointer: pointerOf(line, '/external_id'),
      detail: 'is that of a live record of the dataset already',
    }));
