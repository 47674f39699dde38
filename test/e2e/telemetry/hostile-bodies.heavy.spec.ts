import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { ApiClient, sharedApp, newOrganization, newSpan } from '#testing';
import type { MemoryUse } from '../evaluation/upload-memory.child';
import { type HostileBody, HOSTILE_BODIES } from './hostile-bodies.fixture';
import { RawExporter } from './otlp.harness';

const MIB = 1024 * 1024;
const SENDERS = 4;
/** Memory limit for the process, the budget of exports and their decoded forms. */
const RESIDENT_MAX = 1_536 * MIB;

/** Statuses that an exporter may receive for such a body. */
const DOCUMENTED = [200, 400, 429, 503, 504];

/** One organization sends bodies that are expensive to read, from four connections at once. */
describe('bodies that are expensive to read', () => {
  const app = sharedApp();
  let child: ChildProcess;
  let attacker: RawExporter;
  let other: RawExporter;
  let reader: ApiClient;

  beforeAll(async () => {
    child = fork(path.resolve('dist/test/e2e/evaluation/upload-memory.child.js'), {
      env: { PATH: process.env.PATH, ...app.env, DATABASE_POOL_SIZE: '10' },
      execArgv: ['--expose-gc'],
    });
    const [port] = (await once(child, 'message')) as [number];
    const url = `http://127.0.0.1:${port}`;
    const [one, two] = [await newOrganization(app), await newOrganization(app)];
    attacker = new RawExporter(url, await one.token('runtime'), one.workspaceId);
    other = new RawExporter(url, await two.token('runtime'), two.workspaceId);
    reader = new ApiClient(url, await two.token('viewer'), two.workspaceId);
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

  /** Exports a span of the other organization and reads it. Returns the statuses. */
  async function exportAndRead(): Promise<[exported: number, read: number, spans: number]> {
    const span = newSpan();
    const { status } = await other.protobuf([span]);
    const answer = await reader.get(`/telemetry/v1/traces/${span.traceId}`);
    return [status, answer.status, answer.body.span_count];
  }

  /** Sends a body from all connections while the other organization works. Returns the attacker's statuses. */
  async function attack({ body, options }: HostileBody): Promise<number[]> {
    const statuses: number[] = [];
    let isOver = false;
    const senders = Array.from({ length: SENDERS }, async () => {
      statuses.push((await attacker.send(body, options)).status);
    });
    const attacking = Promise.all(senders).finally(() => (isOver = true));
    do {
      expect(await exportAndRead()).toEqual([200, 200, 1]);
      await delay(10);
    } while (!isOver);
    await attacking;
    return statuses;
  }

  it.each(Object.entries(HOSTILE_BODIES))(
    'never keep others from exporting and reading: %s',
    async (_, make) => {
      await use();
      const hostile = make();
      const statuses = await attack(hostile);
      expect(statuses.filter((status) => !DOCUMENTED.includes(status))).toEqual([]);
      const { resident } = await use();
      expect(resident[1]).toBeLessThan(RESIDENT_MAX);
      expect(child.exitCode).toBeNull();
    },
    240_000,
  );

  it('never keep others from exporting and reading: gzip', async () => {
    const { body } = HOSTILE_BODIES['1,024 events with 800 attributes each']!();
    const statuses = await attack({ body: gzipSync(body), options: { encoding: 'gzip' } });
    expect(statuses.filter((status) => !DOCUMENTED.includes(status))).toEqual([]);
    expect(child.exitCode).toBeNull();
  }, 240_000);
});
