import type { Pages } from '../api/calls.cjs';
import type { CreateDataset, Dataset, DatasetRecord, RecordFromTrace, RecordImport } from '../api/types.cjs';
import { needNodeModule } from '../core/node.js';
import { lines } from '../core/streams.js';
import { chunksOf, idOrName, type ListOf, Resource } from './resource.js';

/** A case of a dataset, as it is imported. `external_id` is the id that you know it by: importing it again updates it. */
export interface NewRecord {
  input: unknown;
  expected?: unknown;
  external_id?: string;
  tags?: string[];
  metadata?: Record<string, unknown>;
}

/** Most traces that one request turns into records. */
const TRACES_MAX = 100;

/** Datasets: the cases that agents are evaluated on. */
export class Datasets extends Resource {
  /** Lists the datasets of the workspace, newest first. */
  list(filters: ListOf<'listDatasets'> = {}): Pages<Dataset> {
    return this.api.listDatasets(filters);
  }

  /** Returns a dataset by its name or id. Throws 404 if there is none. */
  get(dataset: string): Promise<Dataset> {
    return this.api.getDataset({ dataset_id: idOrName(dataset) });
  }

  /** Creates the dataset with this name, or changes these fields of the existing one. */
  upsert(name: string, fields: Omit<CreateDataset, 'name'> = {}): Promise<Dataset> {
    return this.api.createDataset({ on_conflict: 'update', body: { ...fields, name } });
  }

  /** Lists the records of a dataset, newest first. */
  records(dataset: string, filters: ListOf<'listRecords', 'dataset_id'> = {}): Pages<DatasetRecord> {
    return this.api.listRecords({ ...filters, dataset_id: idOrName(dataset) });
  }

  /**
   * Imports records into the dataset with this name, all or none, and creates the dataset if it is missing. At most 100,000
   * records and 32 MiB.
   *
   * @param source the path of a `.csv`, `.jsonl` or `.ndjson` file, or the records
   * @param onConflict what to do about a record whose `external_id` the dataset has: `update` gives it a new version
   */
  async import(
    name: string,
    source: string | Iterable<NewRecord> | AsyncIterable<NewRecord>,
    { onConflict = 'update' }: { onConflict?: 'error' | 'skip' | 'update' } = {},
  ): Promise<RecordImport> {
    const isCsv = typeof source === 'string' && /\.csv$/i.test(source);
    const body =
      typeof source === 'string'
        ? await needNodeModule('fs').promises.readFile(source)
        : await jsonLines(source);
    const { dataset_id } = await this.existing(name);
    const contentType = isCsv ? 'text/csv' : 'application/jsonl';
    return this.api.importRecords({ dataset_id, on_conflict: onConflict, body }, { contentType });
  }

  /**
   * Makes a record of each trace, and creates the dataset if it is missing. A trace that the dataset has is left as it is.
   * The item of a trace that the dataset's schemas do not admit has an `error`. Throws 404 for a trace that is gone.
   *
   * @param traces traces, or their ids
   * @param expected `output` takes the output of each trace as the expected answer
   */
  async fromTraces(
    name: string,
    traces: Iterable<string | { trace_id: string }>,
    { tags, expected }: { tags?: string[]; expected?: 'output' } = {},
  ): Promise<RecordFromTrace[]> {
    const ids = Array.from(traces, (trace) => (typeof trace === 'string' ? trace : trace.trace_id));
    const { dataset_id } = await this.existing(name);
    const all: RecordFromTrace[] = [];
    for (const trace_ids of chunksOf(ids, TRACES_MAX)) {
      const body = {
        trace_ids,
        on_conflict: 'skip' as const,
        ...(tags && { tags }),
        ...(expected && { expected }),
      };
      all.push(...(await this.api.createRecordsFromTraces({ dataset_id, body })).items);
    }
    return all;
  }

  /** Reads every record of a dataset, without holding all of them in memory. */
  async *export(
    dataset: string,
    filters: ListOf<'exportRecords', 'dataset_id' | 'format' | 'cells'> = {},
  ): AsyncGenerator<DatasetRecord> {
    yield* lines<DatasetRecord>(await this.api.exportRecords({ ...filters, dataset_id: idOrName(dataset) }));
  }

  private existing(name: string): Promise<Dataset> {
    return this.api.createDataset({ on_conflict: 'return', body: { name } });
  }
}

async function jsonLines(records: Iterable<unknown> | AsyncIterable<unknown>): Promise<string> {
  const texts: string[] = [];
  for await (const record of records) texts.push(JSON.stringify(record));
  return texts.join('\n');
}
