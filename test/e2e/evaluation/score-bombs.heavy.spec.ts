import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { ApiClient, ownApp } from '#testing';
import { base64, bombOf, GIB, sendInPieces } from './encoded-bodies.fixture';
import { ScoringFixture } from './scoring.fixture';
import type { MemoryUse } from './upload-memory.child';

const MIB = 1024 * 1024;
const LIMIT = 8 * MIB;

/** A small body that decodes to a huge one must not exhaust the memory of the process. */
describe('a compression bomb', () => {
  const app = ownApp({ env: { MEMORY_BUDGET_BYTES: String(132 * MIB) } });
  let on: ScoringFixture;
  let child: ChildProcess;
  let caller: { baseUrl: string; token: string; workspaceId: string };
  let client: ApiClient;
  let route: string;
  let bombs: Record<string, Buffer>;

  beforeAll(async () => {
    const zeros = await bombOf(GIB / 4);
    bombs = {
      gzip: zeros,
      'gzip, base64': base64(zeros),
      'base64, gzip': await bombOf(GIB / 4, 'A'.charCodeAt(0)),
    };
    on = await ScoringFixture.create(app);
    route = `/eval/v1/scorers/${(await on.scorer()).scorer_id}/score`;
    child = fork(path.resolve('dist/test/e2e/evaluation/upload-memory.child.js'), {
      env: {
        PATH: process.env.PATH,
        ...app.env,
        REQUEST_TIMEOUT_MS: '120000',
        GARBAGE_BYTES: String(64 * MIB),
      },
      execArgv: ['--expose-gc'],
    });
    const [port] = (await once(child, 'message')) as [number];
    const token = await on.organization.token('evaluator');
    caller = { baseUrl: `http://127.0.0.1:${port}`, token, workspaceId: on.workspaceId };
    client = new ApiClient(caller.baseUrl, token).in(on.workspaceId);
  }, 120_000);
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

  /** Returns the peak growth of the service's memory during `work`, in MiB. */
  async function growth(work: () => Promise<unknown>): Promise<number> {
    await use();
    await work();
    const [from, to] = (await use()).held;
    return Math.round((to - from) / MIB);
  }

  const post = (encoding: string, body: Buffer, by = client) =>
    by.post(route, body, { 'content-encoding': encoding });

  /** Returns a valid request of this many bytes after decoding. */
  const large = (bytes: number, traceId: string): Buffer => {
    const json = JSON.stringify({ mode: 'preview', trace_ids: [traceId] });
    return gzipSync(json + ' '.repeat(bytes - json.length));
  };

  it.each(['gzip', 'gzip, base64', 'base64, gzip'])(
    'is rejected early in %s, and takes no memory',
    async (encoding) => {
      const bomb = bombs[encoding]!;
      const grown = await growth(async () => {
        const answer = await sendInPieces(caller, route, encoding, bomb, 1024);
        expect(answer).toMatchObject({ status: 413, code: 'compressed_payload_too_large' });
        expect(answer.sent).toBeLessThan(bomb.length / 2);
        expect(answer.sent).toBeLessThan(256 * 1024);
      });
      expect(grown).toBeLessThan(100);
    },
  );

  it('is rejected even if sent many times at once, and takes no more memory than was sent', async () => {
    const body = bombs.gzip!.subarray(0, LIMIT / 32);
    const grown = await growth(async () => {
      const answers = await Promise.all(Array.from({ length: 40 }, () => post('gzip', body)));
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([413]));
    });
    // 40 bodies, decoded up to the limit, would take 320 MiB.
    expect(grown).toBeLessThan(100);
  }, 60_000);

  it('is not decoded within another bomb', async () => {
    const answer = await post('gzip, gzip', gzipSync(bombs.gzip!.subarray(0, MIB)));
    expect([answer.status, answer.body.code]).toEqual([415, 'unsupported_content_encoding']);
  });

  it('takes no more memory than was sent if it never ends', async () => {
    const body = large(LIMIT, await on.trace());
    const grown = await growth(async () => {
      const stop = new AbortController();
      const stalled = Array.from({ length: 50 }, () =>
        fetch(caller.baseUrl + route, {
          method: 'POST',
          signal: stop.signal,
          duplex: 'half',
          headers: {
            authorization: `Bearer ${caller.token}`,
            'x-service-workspace-id': caller.workspaceId,
            'content-type': 'application/json',
            'content-encoding': 'gzip',
          },
          body: new ReadableStream({
            start: (controller) => controller.enqueue(body.subarray(0, -9)),
          }),
        } as RequestInit).catch(() => 'stopped'),
      );
      await new Promise((resolve) => setTimeout(resolve, 1_500));
      stop.abort();
      expect(new Set(await Promise.all(stalled))).toEqual(new Set(['stopped']));
    });
    // 50 decoded bodies would take 400 MiB.
    expect(grown).toBeLessThan(100);
  }, 60_000);

  it('does not use up the memory budget of other organizations', async () => {
    const other = await ScoringFixture.create(app);
    const others = await other.scorer();
    const body = large(LIMIT, await on.trace());
    const bodyOfOthers = large(LIMIT, await other.trace());
    const here = new ApiClient(app.url, caller.token).in(on.workspaceId);
    const { blocked, rest } = await app.database.transaction(async (tx) => {
      await tx.query('LOCK TABLE scorers IN ACCESS EXCLUSIVE MODE');
      const sent = Array.from({ length: 6 }, () => post('gzip', body, here));
      const refused = await firstAnswers(sent, 2);
      expect(refused.map(({ status, body: { code } }) => [status, code])).toEqual(
        Array(2).fill([503, 'service_overloaded']),
      );
      expect(refused[0]!.headers.get('retry-after')).toBe('1');
      const token = await other.organization.token('evaluator');
      const there = new ApiClient(app.url, token).in(other.workspaceId);
      const admitted = there.post(`/eval/v1/scorers/${others.scorer_id}/score`, bodyOfOthers, {
        'content-encoding': 'gzip',
      });
      return { blocked: sent, rest: [admitted] };
    });
    const statuses = (await Promise.all([...blocked, ...rest])).map(({ status }) => status).sort();
    expect(statuses).toEqual([200, 200, 200, 200, 200, 503, 503]);
    // Requests release their bytes when they are answered.
    expect((await post('gzip', body, here)).status).toBe(200);
  }, 60_000);
});

/** Returns the first `count` responses to arrive. */
async function firstAnswers<Answer>(answers: Promise<Answer>[], count: number): Promise<Answer[]> {
  const first: Answer[] = [];
  return new Promise((resolve, reject) => {
    for (const answer of answers) {
      answer.then((one) => first.push(one) === count && resolve(first), reject);
    }
  });
}
