import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { type Answer, ApiClient, sharedApp, newOrganization } from '#testing';
import type { MemoryUse } from '../evaluation/upload-memory.child';

const MIB = 1024 * 1024;
const BUDGET_MIB = 512;
/** Memory of a process in addition to its budget, in MiB. */
const BASE_MIB = 512;
const LENGTH = 4 * MIB - 4096;

const repeated = (start: string, part: string, end: string): string =>
  start + part.repeat(Math.floor((LENGTH - start.length - end.length) / part.length)) + end;

/** `test/attacks/body-attacks.ts` sends members in another order, truncated lists and unknown members. */
describe('many bodies of 4 MiB at once', () => {
  const app = sharedApp();
  let child: ChildProcess;
  let editor: ApiClient;
  let other: ApiClient;
  let workspace_id: string;

  beforeAll(async () => {
    const [organization, another] = [await newOrganization(app), await newOrganization(app)];
    workspace_id = organization.workspaceId;
    child = fork(path.resolve('dist/test/e2e/evaluation/upload-memory.child.js'), {
      env: { PATH: process.env.PATH, ...app.env, MEMORY_BUDGET_BYTES: String(BUDGET_MIB * MIB) },
      execArgv: ['--expose-gc'],
    });
    const [port] = (await once(child, 'message')) as [number];
    const url = `http://127.0.0.1:${port}`;
    editor = new ApiClient(url, await organization.token('editor')).in(workspace_id);
    other = new ApiClient(url, await another.token('viewer')).in(another.workspaceId);
  });
  afterAll(async () => {
    if (child.exitCode === null) {
      child.disconnect();
      await once(child, 'exit');
    }
  });

  async function residentMiB(): Promise<number> {
    const usage = once(child, 'message') as Promise<[MemoryUse]>;
    child.send('use');
    return (await usage)[0].resident[1] / MIB;
  }

  const record = (part: string, start: string, end: string) => (): string =>
    repeated(`{"workspace_id":"${workspace_id}","input":${start}`, part, `${end}}`);

  it.each<[string, () => string, string, number[]]>([
    ['empty objects', record('{},', '[', '0]'), 'records', [413]],
    ['small objects', record(`{"id":1,"v":0.5,"text":"${'x'.repeat(50)}"},`, '[', '0]'), 'records', [201]],
    ['text', record('x', '"', '"'), 'records', [201]],
    ['truncated numbers', () => repeated('[', '0.1234567890123456,', ''), 'experiments', [400]],
  ])(
    'get responses, and do not affect others: %s',
    async (_, body, target, statuses) => {
      const dataset = await editor.post('/eval/v1/datasets', { workspace_id, name: `d ${Math.random()}` });
      const route =
        target === 'records'
          ? `/eval/v1/datasets/${dataset.body.dataset_id}/records`
          : '/eval/v1/experiments';
      const text = Buffer.from(body());
      await residentMiB();
      const answers = Promise.all(Array.from({ length: 40 }, () => editor.post(route, text)));
      let isOver = false;
      void answers.finally(() => (isOver = true));
      const otherStatuses: number[] = [];
      while (!isOver) otherStatuses.push((await other.get('/eval/v1/datasets')).status);
      expect([...new Set(otherStatuses)]).toEqual([200]);
      const codes = (await answers).map(({ status, body: answer }: Answer) =>
        status < 500 ? status : (answer as { code: string }).code,
      );
      for (const code of codes)
        expect([...statuses, 'service_overloaded', 'service_unavailable']).toContain(code);
      expect(codes).toContain(statuses[0]);
      expect(await residentMiB()).toBeLessThan(BASE_MIB + BUDGET_MIB);
    },
    300_000,
  );
});
