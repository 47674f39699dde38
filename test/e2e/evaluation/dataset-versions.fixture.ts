import { readdirSync, readlinkSync, statSync } from 'node:fs';
import { type Answer, type ApiClient, type TestApp, until } from '#testing';
import type {
  DatasetCaseDto,
  DatasetVersionDto,
} from '../../../src/evaluation/datasets/versions/dataset-version.dto';
import type { EvaluationWorkspace, Wire } from './evaluation.harness';

export type DatasetVersion = Wire<DatasetVersionDto>;
export type DatasetCase = Wire<DatasetCaseDto>;

/** Two cases, with quotes, commas and a line break in their cells. */
export const FILE = 'id,question,answer\r\nc1,"1 + 1, please",2\r\nc2,"say ""hi""\nand go",hi\r\n';

/** Returns a file with exactly this many bytes. */
export function fileOf(bytes: number): Buffer {
  const file = Buffer.alloc(bytes, 'x');
  file.write('text\n');
  for (let at = 1024; at < bytes; at += 1024) file[at] = 10;
  return file;
}

/** The ways to upload a file. Each sends the same options in its own form. */
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
  query = '',
): Promise<Answer<DatasetVersion>> {
  const path = `${versionsOf(datasetId)}?${query}`;
  if (form === 'json') {
    const workspace_id = client.workspaceId;
    return client.post(path, { workspace_id, content: content.toString(), ...options }, headers);
  }
  const sent = Object.entries(options).filter(([, value]) => value !== null);
  const texts = sent.map(([name, value]): [string, string] => [
    name,
    typeof value === 'string' ? value : JSON.stringify(value),
  ]);
  if (form === 'text') {
    return client.post(`${path}&${new URLSearchParams(texts).toString()}`, content, {
      'content-type': 'text/csv',
      ...headers,
    });
  }
  const body = new FormData();
  for (const [name, value] of texts) body.append(name, value);
  body.append('file', new Blob([new Uint8Array(Buffer.from(content))], { type: 'text/csv' }), 'cases.csv');
  return client.post(path, body, headers);
}

/** Uploads a file that must become a new version. */
export async function uploadVersion(
  space: EvaluationWorkspace,
  datasetId: string,
  content: string | Buffer,
  options: UploadOptions = {},
): Promise<DatasetVersion> {
  const answer = await upload(space.editor, datasetId, content, options);
  if (answer.status !== 201) throw new Error(`not uploaded: ${JSON.stringify(answer.body)}`);
  return answer.body;
}

/** Counts the chunks and cases in the database that belong to no version. */
export async function orphans({ database }: TestApp): Promise<number> {
  const [row] = await database.query<{ count: number }>(
    `SELECT count(*) AS count FROM (
       SELECT content_id FROM dataset_chunks UNION ALL SELECT content_id FROM dataset_cases) contents
     WHERE content_id NOT IN (SELECT content_id FROM dataset_versions)`,
  );
  return row!.count;
}

/** Returns the sizes of the bodies that this process has in temporary files. Null on platforms other than Linux. */
function spooledSizes(): number[] | null {
  if (process.platform !== 'linux') return null;
  const files = readdirSync('/proc/self/fd').filter((fd) => linkOf(fd).includes('/spool-'));
  return files.map((fd) => statSync(`/proc/self/fd/${fd}`, { throwIfNoEntry: false })?.size ?? 0);
}

/** Waits until this many bodies with at least this total size are spooled. Does not wait on platforms other than Linux. */
export const untilSpooled = (bodies: number, bytes = 0): Promise<void> =>
  until(() => {
    const sizes = spooledSizes();
    return !sizes || (sizes.length === bodies && sizes.reduce((sum, size) => sum + size, 0) >= bytes);
  });

function linkOf(fd: string): string {
  try {
    return readlinkSync(`/proc/self/fd/${fd}`);
  } catch {
    return ''; // closed in the meantime
  }
}
