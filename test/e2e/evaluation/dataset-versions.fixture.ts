import { readdirSync, readlinkSync } from 'node:fs';
import type { Answer, ApiClient, TestApp } from '#testing';
import type {
  DatasetCaseDto,
  DatasetVersionDto,
} from '../../../src/evaluation/dataset-versions/dataset-version.dto';
import type { EvaluationWorkspace, Wire } from './evaluation.harness';

export type DatasetVersion = Wire<DatasetVersionDto>;
export type DatasetCase = Wire<DatasetCaseDto>;

/** Ways to upload a file: each sends the same options in its own form. */
export type UploadForm = 'text' | 'form' | 'json';
export const UPLOAD_FORMS: UploadForm[] = ['text', 'form', 'json'];

export interface UploadOptions {
  case_id_column?: unknown;
  mapping?: unknown;
  workspace_id?: unknown;
}

export const versionsOf = (datasetId: string): string => `/eval/v1/datasets/${datasetId}/versions`;

/** Uploads a file in one of the three forms. */
export function upload(
  client: ApiClient,
  datasetId: string,
  content: string | Buffer,
  options: UploadOptions = {},
  form: UploadForm = 'text',
  headers: Record<string, string> = {},
): Promise<Answer<DatasetVersion>> {
  const path = versionsOf(datasetId);
  if (form === 'json') {
    const workspace_id = client.workspaceId;
    return client.post(path, { workspace_id, content: content.toString(), ...options }, headers);
  }
  const texts = Object.entries(options).map(([name, value]): [string, string] => [
    name,
    typeof value === 'string' ? value : JSON.stringify(value),
  ]);
  if (form === 'text') {
    const query = new URLSearchParams(texts).toString();
    return client.post(`${path}?${query}`, content, { 'content-type': 'text/csv', ...headers });
  }
  const body = new FormData();
  for (const [name, value] of texts) body.append(name, value);
  body.append('file', new Blob([new Uint8Array(Buffer.from(content))], { type: 'text/csv' }), 'cases.csv');
  return client.post(path, body, headers);
}

/** Uploads a file that is to be a new version. */
export async function uploaded(
  space: EvaluationWorkspace,
  datasetId: string,
  content: string | Buffer,
  options: UploadOptions = {},
): Promise<DatasetVersion> {
  const answer = await upload(space.editor, datasetId, content, options);
  if (answer.status !== 201) throw new Error(`not uploaded: ${JSON.stringify(answer.body)}`);
  return answer.body;
}

/** What the database holds of files that became no version. */
export async function orphans({ database }: TestApp): Promise<number> {
  const [row] = await database.query<{ count: number }>(
    `SELECT count(*) AS count FROM (
       SELECT content_id FROM dataset_chunks UNION ALL SELECT content_id FROM dataset_cases) held
     WHERE content_id NOT IN (SELECT content_id FROM dataset_versions)`,
  );
  return row!.count;
}

/** Bodies that this process keeps in temporary files. Known on Linux. */
export function spooledBodies(): number {
  try {
    return readdirSync('/proc/self/fd').filter((fd) => linkOf(fd).includes('/spool-')).length;
  } catch {
    return 0;
  }
}

function linkOf(fd: string): string {
  try {
    return readlinkSync(`/proc/self/fd/${fd}`);
  } catch {
    return ''; // closed meanwhile
  }
}
