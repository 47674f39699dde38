import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { ApiClient, sharedApp } from '#testing';
import { type DatasetCase, upload, versionsOf } from './dataset-versions.fixture';
import { EvaluationWorkspace, type Page } from './evaluation.harness';
import type { MemoryUse } from './upload-memory.child';

const MIB = 1024 * 1024;

/** A row that makes a case of almost 10 MiB in JSON, which writes quotes and line breaks with a backslash. */
const LARGE_CELL = `"${'é""\n'.repeat(1_740_000)}"\n`;

describe('the memory of a process that receives a file of 32 MiB and 100,000 rows', () => {
  const app = sharedApp({ env: { BODY_LIMIT_BYTES: '10485760' } });
  let space: EvaluationWorkspace;
  let child: ChildProcess;
  let client: ApiClient;
  let token: string;

  beforeAll(async () => {
    space = await EvaluationWorkspace.open(app);
    child = fork(path.resolve('dist/test/e2e/evaluation/upload-memory.child.js'), {
      // Delays caused by other processes are not measured.
      env: { PATH: process.env.PATH, ...app.env, REQUEST_TIMEOUT_MS: '120000' },
      // The byte budget for responses is a quarter of the heap limit.
      execArgv: ['--expose-gc', '--max-old-space-size=1024'],
    });
    const [port] = (await once(child, 'message')) as [number];
    token = await space.organization.token('editor');
    client = new ApiClient(`http://127.0.0.1:${port}`, token).in(space.id);
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

  /** Returns the maximum growth of the resident and of the used memory during `work`, in MiB. */
  async function growth(work: () => Promise<unknown>): Promise<{ resident: number; held: number }> {
    await use();
    await work();
    const memory = await use();
    const [resident, held] = [memory.resident, memory.held].map(([from, to]) =>
      Math.round((to - from) / MIB),
    );
    return { resident: resident!, held: held! };
  }

  const files: [string, (salt: number) => Buffer][] = [
    [
      'typical rows',
      (salt) => {
        const rows = Array.from({ length: 100_000 }, (_, n) =>
          `case-${n},"What is ""${n}"" times ${salt},\nand why?",${'it is found step by step. '.repeat(20)}`.slice(
            0,
            332,
          ),
        );
        return Buffer.from(`id,question,context\r\n${rows.join('\r\n')}\r\n`);
      },
    ],
    [
      'only case ids',
      (salt) =>
        Buffer.from(
          `id\n${Array.from({ length: 100_000 }, (_, n) => `${n}${salt}`.padEnd(250, 'x')).join('\n')}`,
        ),
    ],
    [
      '256 empty columns',
      (salt) =>
        Buffer.from(
          `${Array.from({ length: 256 }, (_, n) => `c${n}`).join(',')}\n${`${','.repeat(255)}\n`.repeat(100_000)}`.replace(
            ',\n',
            `,${salt}\n`,
          ),
        ),
    ],
    ['cells of the maximum size', (salt) => Buffer.from(`a\n${LARGE_CELL.repeat(3)}${salt}\n`)],
  ];
  const newDataset = async (): Promise<string> => {
    const { dataset_id } = await space.dataset();
    for (let n = 0; n < 10; n++) await send(dataset_id, Buffer.from(`a\n${n}\n`));
    return dataset_id;
  };
  const send = async (datasetId: string, file: Buffer): Promise<number> => {
    const { status, body } = await upload(client, datasetId, file);
    expect(status).toBe(201);
    return body.version;
  };

  it.each(files)(
    'grows by a bounded amount: %s',
    async (_, fileOf) => {
      const id = await newDataset();
      const file = fileOf(0);
      expect(file.length).toBeGreaterThan(20 * MIB);
      // Typically about 40 MiB. Holding the whole file in memory, as bytes, text or cells, would exceed these bounds.
      let version = 0;
      const ofUpload = await growth(async () => (version = await send(id, file)));
      expect(ofUpload.resident).toBeLessThan(96);
      expect(ofUpload.held).toBeLessThan(96);
      const ofReading = await growth(async () => {
        const path = `${versionsOf(id)}/${version}`;
        expect((await client.get(`${path}/content`)).status).toBe(200);
        expect((await client.get<Page<DatasetCase>>(`${path}/rows?limit=1&offset=99990`)).status).toBe(200);
      });
      expect(ofReading.resident).toBeLessThan(96);
    },
    180_000,
  );

  it('grows by a bounded amount for two files at once', async () => {
    const id = await newDataset();
    const [, typical] = files[0]!;
    const both = [1, 2].map(typical);
    const { resident } = await growth(() => Promise.all(both.map((file) => send(id, file))));
    expect(resident).toBeLessThan(144);
  }, 180_000);

  it('grows by a few pages of the largest rows', async () => {
    const { dataset_id } = await space.dataset();
    // A row is six times as large in JSON.
    const row = `${'\x01'.repeat(1_740_000)}\n`;
    expect((await upload(client, dataset_id, `a\n${row.repeat(18)}`)).status).toBe(201);
    const read = async (): Promise<number> => {
      for (;;) {
        const answer = await fetch(`${client.baseUrl}${versionsOf(dataset_id)}/1/rows`, {
          headers: { authorization: `Bearer ${token}`, 'x-service-workspace-id': space.id },
        });
        const { byteLength } = await answer.arrayBuffer();
        if (answer.status !== 503) return byteLength;
        await delay(100); // The organization's half of the byte budget was in use.
      }
    };
    const { resident } = await growth(async () => {
      const lengths = await Promise.all(Array.from({ length: 48 }, read));
      expect(Math.min(...lengths)).toBeGreaterThan(9 * MIB);
    });
    // The admitted requests take about 200 MiB. All of them at once would take 700 MiB.
    expect(resident).toBeLessThan(400);
  }, 180_000);
});
