import type { Answer, ApiClient } from '#testing';
import type { RecordImportDto } from '../../../src/evaluation/datasets/records/record-transfer.dto';
import {
  type BulkResponse,
  type Dataset,
  type DatasetRecord,
  type EvaluationWorkspace,
  statuses,
} from './evaluation.harness';

export const recordsOf = (datasetId: string): string => `/eval/v1/datasets/${datasetId}/records`;

export type ImportFormat = 'jsonl' | 'csv';
export const MEDIA = { jsonl: 'application/jsonl', csv: 'text/csv' } as const;

/** Returns an export as text. */
export async function exportRecords(client: ApiClient, datasetId: string, query = ''): Promise<string> {
  const answer = await client.get<string>(`${recordsOf(datasetId)}/export?${query}`);
  if (answer.status !== 200) throw new Error(`not exported: ${JSON.stringify(answer.body)}`);
  return answer.body;
}

/** Imports a text. @param query such as `on_conflict` */
export const importRecords = (
  client: ApiClient,
  datasetId: string,
  text: string | Buffer,
  query = '',
  media: string = MEDIA.jsonl,
  headers: Record<string, string> = {},
): Promise<Answer<RecordImportDto>> =>
  client.post(`${recordsOf(datasetId)}/import?${query}`, text, { 'content-type': media, ...headers });

/** Returns the content of a record, without its ids, versions and times. */
export const contentOf = ({
  input, expected, metadata, tags, label, category, source_kind, source_ref, external_id,
}: DatasetRecord) => ({ input, expected, metadata, tags, label, category, source_kind, source_ref, external_id }); // oxfmt-ignore

/** Returns the content of the records of a dataset as JSON texts, oldest first. */
export async function contentsOf(space: EvaluationWorkspace, datasetId: string): Promise<string[]> {
  const records = await space.list<DatasetRecord>(`${recordsOf(datasetId)}?sort=created_at&limit=500`);
  return records.map((record) => JSON.stringify(contentOf(record)));
}

export const jsonLines = (records: unknown[]): string =>
  records.map((record) => `${JSON.stringify(record)}\n`).join('');

/** Creates a dataset with these records. Returns its id. */
export async function createDatasetWith(
  space: EvaluationWorkspace,
  items: Record<string, unknown>[],
): Promise<string> {
  const { dataset_id } = await space.dataset();
  for (let at = 0; at < items.length; at += 100) {
    const path = `${recordsOf(dataset_id)}/bulk`;
    const answer = await space.post<BulkResponse>(path, { items: items.slice(at, at + 100) });
    expect(new Set(statuses(answer))).toEqual(new Set([201]));
  }
  return dataset_id;
}

const readDataset = (space: EvaluationWorkspace, id: string) =>
  space.viewer.get<Dataset>(`/eval/v1/datasets/${id}`);

export const datasetOf = async (space: EvaluationWorkspace, id: string): Promise<Dataset> =>
  (await readDataset(space, id)).body;

/** Returns the ETag of a dataset, which each change of its records changes. */
export const revisionOf = async (space: EvaluationWorkspace, id: string): Promise<string | null> =>
  (await readDataset(space, id)).headers.get('etag');

/** Returns the external ids of the records of a dataset, oldest first. */
export async function externalIdsOf(
  space: EvaluationWorkspace,
  datasetId: string,
): Promise<(string | null)[]> {
  const records = await space.list<DatasetRecord>(`${recordsOf(datasetId)}?sort=created_at&limit=500`);
  return records.map((one) => one.external_id);
}
