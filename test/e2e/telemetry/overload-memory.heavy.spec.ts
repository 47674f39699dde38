import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import { ownApp, newOrganization, newSpan } from '#testing';
import type { MemoryUse } from '../evaluation/upload-memory.child';
import { RawExporter } from './otlp.harness';

const MIB = 1024 * 1024;
const BUDGET = 16 * MIB;
const EXPORT_BYTES = 2 * MIB;
/** Number of exports while nothing can be stored: sixteen times the budget. */
const EXPORTS = 128;

/** Exporters that send faster than the database can store must not exhaust the memory. */
describe('the memory of a process with a slow database', () => {
  const app = ownApp();
  let database: Client;
  let child: ChildProcess;

  beforeAll(async () => {
    database = new Client({ connectionString: app.databaseUrl });
    await database.connect();
    child = fork(path.resolve('dist/test/e2e/evaluation/upload-memory.child.js'), {
      env: {
        PATH: process.env.PATH,
        ...app.env,
        TELEMETRY_QUEUE_BYTES: String(BUDGET),
        REQUEST_TIMEOUT_MS: '120000',
      },
      execArgv: ['--expose-gc'],
    });
  });
  afterAll(async () => {
    if (child.exitCode === null) {
      child.disconnect();
      await once(child, 'exit');
    }
    await database.end();
  });

  async function use(): Promise<MemoryUse> {
    const answered = once(child, 'message') as Promise<[MemoryUse]>;
    child.send('use');
    return (await answered)[0];
  }

  it('grows by the budget, and accepted exports are stored', async () => {
    const [port] = (await once(child, 'message')) as [number];
    const exporters = await Promise.all(
      Array.from({ length: 4 }, async () => {
        const organization = await newOrganization(app);
        const token = await organization.token('runtime');
        return new RawExporter(`http://127.0.0.1:${port}`, token, organization.workspaceId);
      }),
    );
    const send = (n: number): Promise<number> => {
      const span = newSpan({ attributes: { text: String(n).padEnd(EXPORT_BYTES, 'x') } });
      return exporters[n % exporters.length]!.protobuf([span]).then(({ status }) => status);
    };
    expect(await send(0)).toBe(200);
    await use();
    await database.query('BEGIN; LOCK TABLE traces IN SHARE ROW EXCLUSIVE MODE');
    let refused = 0;
    const answers: Promise<number>[] = [];
    for (let n = 1; n <= EXPORTS; n++) {
      const answer = send(n).then((status) => {
        if (status === 503) refused++;
        return status;
      });
      answers.push(answer);
      await Promise.race([answer, delay(20)]);
    }
    for (let looks = 0; looks < 500 && refused < EXPORTS - BUDGET / EXPORT_BYTES; looks++) await delay(20);
    const { held } = await use();
    await database.query('COMMIT');
    // accepted exports (twice, if decoded), and rejected exports that are not yet garbage-collected
    expect(Math.round((held[1] - held[0]) / MIB)).toBeLessThan((6 * BUDGET) / MIB);
    const statuses = await Promise.all(answers);
    const accepted = statuses.filter((status) => status === 200).length;
    expect([accepted + refused, accepted > 1]).toEqual([EXPORTS, true]);
    const { rows } = await database.query<{ count: string }>('SELECT count(*) FROM spans');
    expect(Number(rows[0]!.count)).toBe(accepted + 1);
  }, 180_000);
});
