import type { RequestOptions } from '../api/calls.cjs';
import type { Client } from '../client.js';
import type { ReadData } from './data.js';
import { Fault, sha256, toJson } from './json.js';
import type { DataItem } from './options.js';

/** Records that back an experiment, at most. */
const RECORDS_MAX = 10_000;

/** Limits of one bulk call. The size is in characters, so that it stays below 4 MiB in any language. */
const BATCH_ITEMS = 100;
const BATCH_SIZE = 1024 * 1024;

/** Calls at a time. */
const CALLS = 3;

/** A record, as the service takes it. */
interface NewRecord {
  external_id: string;
  input: unknown;
  expected: unknown;
  metadata: Record<string, unknown>;
  tags: string[];
}

interface StoredRecord {
  id: string;
  version: number;
}

/** Throws a `TypeError` if there are more items than an experiment can have records. */
export function checkCount(count: number): void {
  if (count <= RECORDS_MAX) return;
  throw new TypeError(
    `data: an eval over items can have ${RECORDS_MAX} cases. Write them to a CSV file, which can have 100,000.`,
  );
}

/** Returns the id of the dataset with a name, which is created if it is missing. */
export async function ensureDataset(client: Client, name: string, requests: RequestOptions): Promise<string> {
  const { dataset_id } = await client.api.createDataset({ body: { name }, on_conflict: 'return' }, requests);
  return dataset_id;
}

/** Items become records of the dataset, by their ids. Records that it has already, and that are not among them, stay as they are. */
export async function recordsOf(dataset: string, items: readonly DataItem[]): Promise<ReadData> {
  if (items.length === 0) throw new TypeError('data has no items.');
  const ids = new Set<string>();
  const records: NewRecord[] = [];
  for (const [index, item] of items.entries()) {
    const record = await toRecord(item, index, ids);
    ids.add(record.external_id);
    records.push(record);
  }
  const digests = await Promise.all(records.map((record) => sha256(JSON.stringify(record))));
  return {
    digest: await sha256(digests.sort().join()),
    isRecords: true,
    upload: async (client, requests) => {
      const dataset_id = await ensureDataset(client, dataset, requests);
      const stored = await storeRecords(client, dataset_id, records, requests);
      const dataset_record_ids = stored.map(({ id }) => id).sort();
      const versions = new Map(stored.map(({ id, version }) => [id, version]));
      return { pinned: { dataset_id, dataset_filter: { dataset_record_ids } }, versions };
    },
  };
}

async function toRecord(item: DataItem, index: number, taken: ReadonlySet<string>): Promise<NewRecord> {
  const place = `data: item ${index + 1}`;
  if (typeof item !== 'object' || item === null || item.input === undefined) {
    throw new TypeError(`${place} has no input. Items are { input, id?, expected?, metadata?, tags? }.`);
  }
  const { id, input, expected = null, metadata = {}, tags = [] } = item;
  const record = { input, expected, metadata, tags: [...tags] };
  try {
    toJson(record);
  } catch (error) {
    throw error instanceof Fault ? new TypeError(`${place} ${error.message}.`) : error;
  }
  if (id === undefined || id === null) return { external_id: await idOf(input, taken), ...record };
  const external_id = String(id);
  if (taken.has(external_id)) throw new TypeError(`${place} has the id ${external_id} of an earlier item.`);
  return { external_id, ...record };
}

/** Derives an id from the input; repeats get a suffix. */
async function idOf(input: unknown, taken: ReadonlySet<string>): Promise<string> {
  const hash = (await sha256(toJson(input))).slice(0, 16);
  for (let n = 1; ; n += 1) {
    const id = n === 1 ? hash : `${hash}-${n}`;
    if (!taken.has(id)) return id;
  }
}

async function storeRecords(
  client: Client,
  datasetId: string,
  records: readonly NewRecord[],
  requests: RequestOptions,
): Promise<StoredRecord[]> {
  const batches: NewRecord[][] = [];
  for (let at = 0; at < records.length; at += batches.at(-1)!.length) {
    batches.push(firstBatch(records.slice(at, at + BATCH_ITEMS)));
  }
  const stored: StoredRecord[] = [];
  for (let at = 0; at < batches.length; at += CALLS) {
    const calls = batches
      .slice(at, at + CALLS)
      .map((batch) => storeBatch(client, datasetId, batch, requests));
    stored.push(...(await Promise.all(calls)).flat());
  }
  return stored;
}

async function storeBatch(
  client: Client,
  datasetId: string,
  batch: readonly NewRecord[],
  requests: RequestOptions,
): Promise<StoredRecord[]> {
  const body = { on_conflict: 'update' as const, items: [...batch] };
  const { items } = await client.api.createRecordsBulk({ dataset_id: datasetId, body }, requests);
  const stored: StoredRecord[] = [];
  const again: NewRecord[] = [];
  for (const item of items) {
    if ('record' in item) {
      const { dataset_record_id: id, version } = item.record;
      stored.push({ id, version });
    } else if (item.status_code === 413 && batch.length > 1) {
      again.push(batch[item.index]!);
    } else {
      const { external_id } = batch[item.index]!;
      throw new TypeError(`data: the service refused the item ${external_id}: ${item.error.detail}`);
    }
  }
  // the response holds only as many stored records as fit into it
  for (const one of again) stored.push(...(await storeBatch(client, datasetId, [one], requests)));
  return stored;
}

function firstBatch<T>(records: readonly T[]): T[] {
  let size = 0;
  const end = records.findIndex((record, index) => {
    size += JSON.stringify(record).length;
    return index > 0 && size > BATCH_SIZE;
  });
  return records.slice(0, end === -1 ? undefined : end);
}
