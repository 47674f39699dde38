import http from 'node:http';
import type { Pool } from 'pg';
import { sharedApp, until } from '#testing';
import { untilSpooled } from './dataset-versions.fixture';
import { EvaluationWorkspace } from './evaluation.harness';
import {
  contentsOf,
  datasetOf,
  exportRecords,
  importRecords,
  jsonLines,
  recordsOf,
} from './record-transfer.fixture';

const LARGE = 'x'.repeat(8 * 1024);

describe('an import in progress', () => {
  const app = sharedApp();
  let space: EvaluationWorkspace;

  beforeAll(async () => {
    space = await EvaluationWorkspace.open(app);
  });

  const pool = () => (app.database.dataSource.driver as unknown as { master: Pool }).master;
  const bodyOf = (count: number) =>
    jsonLines(Array.from({ length: count }, (_, n) => ({ input: `${n} ${LARGE}`, external_id: `i${n}` })));

  /** Opens an import request. The test sends the body. */
  async function begin(datasetId: string, body: Buffer): Promise<http.ClientRequest> {
    return http.request(`${app.url}${recordsOf(datasetId)}/import`, {
      method: 'POST',
      agent: false,
      headers: {
        authorization: `Bearer ${await space.organization.token('editor')}`,
        'x-service-workspace-id': space.id,
        'content-type': 'application/jsonl',
        'content-length': body.length,
      },
    });
  }

  it('leaves nothing behind when its client disconnects', async () => {
    const { dataset_id } = await space.dataset();
    const body = Buffer.from(bodyOf(2_000));
    const request = await begin(dataset_id, body);
    const closed = new Promise((resolve) => request.on('error', resolve).on('close', resolve));
    request.write(body.subarray(0, -10));
    await untilSpooled(1, body.length - 10);
    request.destroy();
    await closed;
    await untilSpooled(0);
    expect((await datasetOf(space, dataset_id)).record_count).toBe(0);
    expect(await exportRecords(space.viewer, dataset_id)).toBe('');
  });

  it('does not lock its dataset while the body arrives', async () => {
    const { dataset_id } = await space.dataset();
    const body = Buffer.from(bodyOf(200));
    const request = await begin(dataset_id, body);
    const status = new Promise<number>((resolve, reject) => {
      request.on('response', (response) => resolve(response.resume().statusCode!)).on('error', reject);
    });
    request.write(body.subarray(0, 1000));
    await untilSpooled(1, 1000);
    await space.record(dataset_id, { input: 'written meanwhile' });
    await until(() => pool().totalCount === pool().idleCount);
    request.end(body.subarray(1000));
    expect(await status).toBe(200);
    expect((await contentsOf(space, dataset_id)).length).toBe(201);
  });

  it('waits in a queue that alternates between workspaces, so that none blocks another', async () => {
    const other = await EvaluationWorkspace.open(app);
    const body = jsonLines([{ input: 1 }]);
    const sendTo = async (to: EvaluationWorkspace, datasetId: string): Promise<number> =>
      (await importRecords(to.editor, datasetId, body)).status;
    const [id, otherId] = [(await space.dataset()).dataset_id, (await other.dataset()).dataset_id];
    let sent: Promise<number>[] = [];
    await untilSpooled(0);
    await app.database.transaction(async (tx) => {
      await tx.query('LOCK TABLE records IN EXCLUSIVE MODE');
      sent = Array.from({ length: 16 }, () => sendTo(space, id));
      await untilSpooled(16, 16 * body.length);
      sent.push(sendTo(other, otherId));
      await untilSpooled(17, 17 * body.length);
    });
    expect(await Promise.all(sent)).toEqual(sent.map(() => 200));
    const times = async (of: EvaluationWorkspace, datasetId: string): Promise<string[]> =>
      (await of.list<{ created_at: string }>(recordsOf(datasetId))).map(({ created_at }) => created_at);
    const [its] = await times(other, otherId);
    const before = (await times(space, id)).filter((time) => time < its!);
    // Two were in progress, and one is next in the queue.
    expect(before.length).toBeLessThan(8);
    expect((await datasetOf(space, id)).record_count).toBe(16);
  });
});
