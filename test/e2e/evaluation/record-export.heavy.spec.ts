import { once } from 'node:events';
import http from 'node:http';
import type net from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { Pool } from 'pg';
import { ownApp, type TestApp, until } from '#testing';
import { EvaluationWorkspace } from './evaluation.harness';
import { exportRecords, importRecords, jsonLines, recordsOf } from './record-transfer.fixture';

const MIB = 1024 * 1024;
/** Number of records to export: far more than the buffers between service and client hold. */
const RECORDS = 1_500;
const LARGE = 'x'.repeat(16 * 1024);
/** How long a client can read nothing, in milliseconds. */
const STALL_MS = 1_500;

/** A client that controls when it reads the response. */
class SlowReader {
  private constructor(
    private readonly response: http.IncomingMessage,
    private readonly request: http.ClientRequest,
  ) {}

  static open(url: string, headers: Record<string, string>): Promise<SlowReader> {
    return new Promise((resolve, reject) => {
      const request = http.get(url, { headers, agent: false }, (response) => {
        response.pause();
        resolve(new SlowReader(response, request));
      });
      request.on('error', reject);
    });
  }

  /** Reads the rest. Throws when the connection is aborted. */
  async rest(): Promise<string> {
    const chunks: Buffer[] = [];
    for await (const chunk of this.response) chunks.push(chunk as Buffer);
    if (!this.response.complete) throw new Error('broken off');
    return Buffer.concat(chunks).toString();
  }

  leave(): void {
    this.request.destroy();
  }
}

describe('an export in progress', () => {
  const app = ownApp();
  let hasty: TestApp;
  let space: EvaluationWorkspace;
  let datasetId: string;
  let headers: Record<string, string>;

  beforeAll(async () => {
    hasty = await app.another({ REQUEST_TIMEOUT_MS: String(STALL_MS), ANSWER_STALL_MS: String(STALL_MS) });
    space = await EvaluationWorkspace.open(app);
    const token = await space.organization.token('viewer');
    headers = { authorization: `Bearer ${token}`, 'x-service-workspace-id': space.id };
    datasetId = await filled(RECORDS, LARGE);
  });
  afterAll(async () => {
    await hasty.close();
  });

  const filled = async (count: number, input: string): Promise<string> => {
    const { dataset_id } = await space.dataset();
    for (let from = 0; from < count; from += 1_000) {
      const lines = jsonLines(
        Array.from({ length: Math.min(1_000, count - from) }, (_, n) => ({
          input: `${from + n} ${input}`,
          label: 'before',
          external_id: `e${from + n}`,
        })),
      );
      expect((await importRecords(space.editor, dataset_id, lines)).status).toBe(200);
    }
    return dataset_id;
  };
  const open = (query = '', id = datasetId, from = app) =>
    SlowReader.open(`${from.url}${recordsOf(id)}/export?${query}`, headers);
  const openHasty = () => open('', datasetId, hasty);
  const pool = () => (app.database.dataSource.driver as unknown as { master: Pool }).master;
  /** Counts the batches that are read until nothing more happens. */
  const batchesRead = async (during: () => Promise<unknown>): Promise<number> => {
    const spy = jest.spyOn(app.database, 'query');
    const read = () =>
      spy.mock.calls.filter(
        ([statement]) => typeof statement !== 'string' && statement.text.includes('examined'),
      ).length;
    try {
      await during();
      for (let before = -1; before !== read(); await delay(300)) before = read();
      return read();
    } finally {
      spy.mockRestore();
    }
  };

  it.each(['jsonl', 'csv'])('shows no concurrent changes as %s', async (format) => {
    const id = await filled(RECORDS, LARGE);
    const before = await exportRecords(space.viewer, id, `format=${format}`);
    const reader = await open(`format=${format}`, id);
    const path = recordsOf(id);
    const [last] = await space.list<{ dataset_record_id: string }>(`${path}?limit=1`);
    const middle = await space.list<{ dataset_record_id: string }>(`${path}?external_id=e1000`);
    await space.record(id, { input: 'made meanwhile' });
    await space.editor.patch(`${path}/${last!.dataset_record_id}`, { input: 'changed', label: 'after' });
    await space.archive(`${path}/${middle[0]!.dataset_record_id}`);
    const update = jsonLines([{ input: 'replaced', external_id: 'e900' }]);
    expect((await importRecords(space.editor, id, update, 'on_conflict=update')).body.updated_count).toBe(1);
    expect(await reader.rest()).toBe(before);
    const after = await exportRecords(space.viewer, id, `format=${format}`);
    for (const change of ['made meanwhile', 'changed', 'replaced']) expect(after).toContain(change);
    expect(after).not.toMatch(/\be1000\b/);
    expect(await exportRecords(space.viewer, id, `format=${format}&label=after`)).toContain('changed');
  });

  it('reads the database as fast as its client reads, and holds no connection', async () => {
    let reader: SlowReader | undefined;
    const ahead = await batchesRead(async () => (reader = await open()));
    expect(ahead).toBeLessThan(10);
    await until(() => pool().totalCount === pool().idleCount);
    const all = await batchesRead(async () => reader!.rest());
    expect(all).toBeGreaterThan(15);
  });

  it('ends when its client disconnects', async () => {
    const read = await batchesRead(async () => {
      const reader = await open();
      reader.leave();
    });
    expect(read).toBeLessThan(10);
    await until(() => pool().totalCount === pool().idleCount);
  });

  it('starts after the first batch, even without a match, and ends when its client disconnects', async () => {
    const query = app.database.query.bind(app.database);
    let looks = 0;
    let letOn!: () => void;
    const released = new Promise<void>((resolve) => (letOn = resolve));
    const spy = jest.spyOn(app.database, 'query').mockImplementation(async (statement, values) => {
      if (JSON.stringify(statement).includes('examined') && ++looks > 1) await released;
      return query(statement, values);
    });
    try {
      const server = app.app.getHttpServer() as http.Server;
      const disconnected = once(server, 'connection').then(([socket]) => once(socket as net.Socket, 'close'));
      const reader = await open('label=none');
      reader.leave();
      await disconnected;
      letOn();
      await until(() => pool().totalCount === pool().idleCount);
      expect(looks).toBe(2);
    } finally {
      letOn();
      spy.mockRestore();
    }
  });

  it('is aborted when its client stops reading, but not when its client is slow', async () => {
    const stuck = await openHasty();
    const slow = await openHasty();
    await delay(STALL_MS / 2);
    expect((await slow.rest()).split('\n')).toHaveLength(RECORDS + 1);
    const server = hasty.app.getHttpServer() as http.Server;
    while ((await promisify(server.getConnections.bind(server))()) > 0) await delay(50);
    await expect(stuck.rest()).rejects.toThrow();
  });

  it('can take longer than REQUEST_TIMEOUT_MS when its client reads slowly', async () => {
    const reader = await openHasty();
    const started = Date.now();
    let bytes = 0;
    const response = (reader as unknown as { response: http.IncomingMessage }).response;
    for await (const chunk of response) {
      bytes += (chunk as Buffer).length;
      if (bytes < 6 * MIB) await delay(30);
    }
    expect(response.complete).toBe(true);
    expect(Date.now() - started).toBeGreaterThan(STALL_MS);
  });

  it('is aborted when it fails midway, and never ends as if it were complete', async () => {
    const reader = await open();
    await app.database.query('ALTER TABLE record_versions RENAME TO elsewhere');
    try {
      await expect(reader.rest()).rejects.toThrow();
      const answer = await space.viewer.get(`${recordsOf(datasetId)}/export`);
      expect([answer.status, answer.body.code]).toEqual([500, 'internal_error']);
    } finally {
      await app.database.query('ALTER TABLE elsewhere RENAME TO record_versions');
    }
  });

  it('responds to HEAD with its headers', async () => {
    let answer: Response | undefined;
    const read = await batchesRead(async () => {
      answer = await fetch(`${app.url}${recordsOf(datasetId)}/export`, { method: 'HEAD', headers });
    });
    expect([answer!.status, answer!.headers.get('content-type')]).toEqual([
      200,
      'application/jsonl; charset=utf-8',
    ]);
    expect(read).toBeLessThanOrEqual(1);
  });
});
