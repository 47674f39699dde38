import type { RequestOptions } from '../api/calls.cjs';
import type { Client } from '../client.js';
import { nodeModule } from '../core/node.js';
import { sha256, toJson } from './json.js';
import type { Data, DataItem, DatasetData, EvaluateOptions } from './options.js';
import { checkCount, ensureDataset, recordsOf } from './records.js';

/** The part of a dataset that an experiment covers, as `createExperiment` takes it. */
export interface PinnedData {
  dataset_id: string;
  dataset_version?: number;
  dataset_filter?: NonNullable<DatasetData['filter']>;
}

/** Cases that are read, but not uploaded yet. */
export interface ReadData {
  /** Tells apart data with other cases. The order of the cases does not matter. */
  digest: string;
  /** Whether the cases become records, whose versions the service pins when the experiment is created. */
  isRecords: boolean;
  /** Uploads the cases. `versions` has the versions of the records, by their ids. */
  upload(
    client: Client,
    requests: RequestOptions,
  ): Promise<{ pinned: PinnedData; versions: ReadonlyMap<string, number> | null }>;
}

type DataOptions = Pick<EvaluateOptions, 'name' | 'data' | 'dataset' | 'caseIdColumn' | 'mapping' | 'trials'>;

/** Reads the data of an eval. Throws a `TypeError` that says what to change for invalid data. */
export async function readData(
  client: Client,
  options: DataOptions,
  requests: RequestOptions,
): Promise<ReadData> {
  const { data, name, dataset = name } = options;
  if (typeof data === 'object' && 'dataset' in data) return readDataset(client, data, requests);
  if (typeof data !== 'string' && !(data instanceof URL))
    return recordsOf(dataset, await itemsOf(data, requests.signal));
  const kind = /\.(csv|jsonl|ndjson)$/i.exec(String(data).replace(/[?#].*$/, ''))?.[1]?.toLowerCase();
  if (kind === undefined) throw new TypeError(`data: ${String(data)} must end in .csv, .jsonl or .ndjson.`);
  const bytes = await readBytes(data, requests);
  return kind === 'csv' ? csvOf(dataset, bytes, options) : recordsOf(dataset, parseLines(bytes));
}

/** Time limit for reading a URL. */
const URL_TIMEOUT_MS = 600_000;

async function readBytes(source: string | URL, { signal }: RequestOptions): Promise<Uint8Array<ArrayBuffer>> {
  if (/^https?:/i.test(String(source))) {
    const limit = AbortSignal.timeout(URL_TIMEOUT_MS);
    const response = await fetch(source, { signal: signal ? AbortSignal.any([signal, limit]) : limit });
    if (!response.ok) throw new Error(`${String(source)} answered ${response.status}. Check the address.`);
    return new Uint8Array(await response.arrayBuffer());
  }
  const fs = nodeModule('fs');
  if (!fs)
    throw new TypeError('data: files can only be read where there is a file system. Pass items instead.');
  const isFileUrl = typeof source === 'string' && source.startsWith('file:');
  return new Uint8Array(await fs.promises.readFile(isFileUrl ? new URL(source) : source));
}

/** A CSV file becomes a version of the dataset. With several trials its rows become records, because a version has none. */
async function csvOf(
  dataset: string,
  bytes: Uint8Array<ArrayBuffer>,
  { caseIdColumn, mapping, trials = 1 }: DataOptions,
): Promise<ReadData> {
  const settings = {
    ...(caseIdColumn && { case_id_column: caseIdColumn }),
    ...(mapping && { mapping: toJson(mapping) }),
  };
  const digest = await sha256(`${await sha256(bytes)} ${toJson(settings)}`);
  const version = async (client: Client, requests: RequestOptions) => {
    const dataset_id = await ensureDataset(client, dataset, requests);
    const stored = await client.api.createDatasetVersion(
      { dataset_id, ...settings, body: bytes },
      { ...requests, contentType: 'text/csv' },
    );
    if (!('version' in stored)) throw new Error('The service did not store the CSV file.');
    return { dataset_id, dataset_version: stored.version };
  };
  if (trials <= 1) {
    return {
      digest,
      isRecords: false,
      upload: async (client, requests) => ({ pinned: await version(client, requests), versions: null }),
    };
  }
  return {
    digest,
    isRecords: true,
    upload: async (client, requests) => {
      const { dataset_id, dataset_version } = await version(client, requests);
      const items: DataItem[] = [];
      for await (const row of client.api.listDatasetVersionRows(
        { dataset_id, version: String(dataset_version) },
        requests,
      )) {
        items.push({ ...row, id: row.case_id });
        checkCount(items.length);
      }
      return (await recordsOf(dataset, items)).upload(client, requests);
    },
  };
}

/** A dataset of the workspace stays as it is. */
async function readDataset(
  client: Client,
  { dataset, version, filter }: DatasetData,
  requests: RequestOptions,
): Promise<ReadData> {
  const isId = /^ds_[0-9a-z]{26}$/.test(dataset);
  const found = await client.api.getDataset({ dataset_id: isId ? dataset : `name:${dataset}` }, requests);
  const isCsv = version !== undefined || (found.record_count === 0 && found.latest_version !== null);
  const number = version === 'latest' || version === undefined ? found.latest_version : version;
  if (isCsv && number === null) throw new TypeError(`data: the dataset ${dataset} has no CSV version.`);
  const pinned: PinnedData = {
    dataset_id: found.dataset_id,
    ...(isCsv && number !== null && { dataset_version: number }),
    ...(filter && { dataset_filter: filter }),
  };
  return {
    digest: await sha256(toJson(pinned)),
    isRecords: false,
    upload: () => Promise.resolve({ pinned, versions: null }),
  };
}

/** Collects items. There are few enough, because an experiment takes at most 10,000 records. */
async function itemsOf(
  data: Exclude<Data<unknown, unknown>, string | URL | DatasetData>,
  signal: AbortSignal | undefined,
): Promise<DataItem[]> {
  const given = typeof data === 'function' ? await data() : data;
  if (typeof given === 'function') return itemsOf(given, signal);
  if (typeof given !== 'object' || !(Symbol.iterator in given || Symbol.asyncIterator in given)) {
    throw new TypeError('data must be a path, a URL, items, a function that returns items, or { dataset }.');
  }
  const items: DataItem[] = [];
  for await (const item of given) {
    signal?.throwIfAborted();
    items.push(item);
    checkCount(items.length);
  }
  return items;
}

function parseLines(bytes: Uint8Array): DataItem[] {
  const items: DataItem[] = [];
  const lines = new TextDecoder('utf-8', { fatal: true }).decode(bytes).split('\n');
  lines.forEach((line, index) => {
    if (line.trim() === '') return;
    let item: unknown;
    try {
      item = JSON.parse(line);
    } catch {
      throw new TypeError(`data: line ${index + 1} is not JSON.`);
    }
    const { external_id, ...members } = (item ?? {}) as Record<string, unknown>;
    items.push({ ...(external_id != null && { id: external_id as string }), ...members } as DataItem);
    checkCount(items.length);
  });
  return items;
}
