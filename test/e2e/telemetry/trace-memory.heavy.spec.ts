import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import http, { type IncomingMessage } from 'node:http';
import path from 'node:path';
import { ApiClient, ownApp, SPAN_START } from '#testing';
import type { MemoryUse } from '../evaluation/upload-memory.child';
import { TRACES } from './otlp.harness';
import { ReadingWorkspace } from './reading.fixture';

const MIB = 1024 * 1024;
const SPANS = 50_000;
/** Minimum size of the exported spans. Buffering them would exceed the bounds below. */
const EXPORT_BYTES = 350 * MIB;

/** A trace of 50,000 spans must not exhaust the memory of the process. */
describe('the memory of a process that reads a trace of 50,000 spans', () => {
  const app = ownApp();
  let space: ReadingWorkspace;
  let child: ChildProcess;
  let client: ApiClient;
  let headers: Record<string, string>;
  let traceId: string;
  /** Another trace, with one span. */
  let small: string;

  beforeAll(async () => {
    space = await ReadingWorkspace.open(app);
    [traceId] = (await space.send([{ name: 'root', start: SPAN_START }])) as [string];
    await app.database.query(
      `INSERT INTO spans (workspace_id, day, trace_no, span_id, parent_span_id, name, kind, status_code, started_at,
                          ended_at, source_id, attributes)
       SELECT s.workspace_id, s.day, s.trace_no, n, n - 1, 'step ' || n, 'client', 'unset',
              s.started_at + n * interval '1 ms', s.ended_at + n * interval '1 ms', s.source_id,
              json_build_object('prompt', repeat('as users ask: ' || n, 400))
       FROM spans s, generate_series(1, $1::int - 1) n`,
      [SPANS],
    );
    await app.database.query('UPDATE traces SET span_count = $1', [SPANS]);
    [small] = (await space.send([{}])) as [string];
    child = fork(path.resolve('dist/test/e2e/evaluation/upload-memory.child.js'), {
      // a long timeout, so that delays caused by other processes do not matter
      env: { PATH: process.env.PATH, ...app.env, REQUEST_TIMEOUT_MS: '120000' },
      execArgv: ['--expose-gc'],
    });
    const [port] = (await once(child, 'message')) as [number];
    const token = await space.organization.token('viewer');
    client = new ApiClient(`http://127.0.0.1:${port}`, token).in(space.id);
    headers = { authorization: `Bearer ${token}`, 'x-service-workspace-id': space.id };
  });
  afterAll(async () => {
    if (child.exitCode === null) {
      child.disconnect();
      await once(child, 'exit');
    }
  });

  async function use(): Promise<MemoryUse> {
    const answered = once(child, 'message') as Promise<[MemoryUse]>;
    child.send('use');
    return (await answered)[0];
  }

  /** Returns by how much memory the process grows during `work`, in MiB. */
  async function growth(work: () => Promise<unknown>): Promise<number> {
    await use();
    await work();
    const { held } = await use();
    return Math.round((held[1] - held[0]) / MIB);
  }

  /** Reads an export to its end without buffering it. */
  async function readExport(id: string): Promise<{ bytes: number; lines: number }> {
    const request = http.get(`${client.baseUrl}${TRACES}/${id}/spans/export`, { agent: false, headers });
    const [answer] = (await once(request, 'response')) as [IncomingMessage];
    const read = { bytes: 0, lines: 0 };
    for await (const part of answer as AsyncIterable<Buffer>) {
      read.bytes += part.length;
      for (const byte of part) if (byte === 10) read.lines++;
    }
    return read;
  }

  it('grows by a fraction of the export', async () => {
    await readExport(small);
    const growthMib = await growth(async () => {
      const { bytes, lines } = await readExport(traceId);
      expect(lines).toBe(SPANS);
      expect(bytes).toBeGreaterThan(EXPORT_BYTES);
    });
    // most of it is garbage that is not yet collected
    expect(growthMib).toBeLessThan(320);
  }, 180_000);

  it('grows only by the first spans of the tree, or by one page', async () => {
    const get = async (rest: string): Promise<any> => {
      const { status, body } = await client.get(`${TRACES}/${traceId}${rest}`);
      expect(status).toBe(200);
      return body;
    };
    await get('');
    const growthMib = await growth(async () => {
      const tree = await get('');
      expect([tree.spans.length, tree.span_count, tree.is_truncated]).toEqual([1_000, SPANS, true]);
      expect((await get('/spans?limit=500&offset=49990')).items).toHaveLength(10);
    });
    expect(growthMib).toBeLessThan(64);
  }, 180_000);
});
