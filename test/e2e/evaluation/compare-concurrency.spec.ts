import { once } from 'node:events';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import type { Scope } from '#platform/auth';
import { ComputationPool } from '#platform/concurrency';
import type { Problem } from '#platform/problem';
import { ownApp } from '#testing';
import { ComparedResultRepository } from '../../../src/evaluation/experiments/compare/compared-result.repository';
import { ScoreReader } from '../../../src/evaluation/experiments/compare/score-reader';
import { AnalysisThreads } from '../../../src/evaluation/statistics/computation/analysis.threads';
import { compare, compared, completed, experimentOf, EXPERIMENTS, scored } from './comparison.fixture';
import { EvaluationWorkspace, outcome } from './evaluation.harness';

const NEVER = new AbortController().signal;
/** How many requests may wait. */
const WAITING_MAX = 128;

/** Comparisons of one workspace and abandoned requests must not block other comparisons. */
describe('comparisons under load', () => {
  const app = ownApp({ env: { REQUEST_TIMEOUT_MS: '60000' } });
  let space: EvaluationWorkspace;
  let threads: AnalysisThreads;

  beforeAll(async () => {
    space = await EvaluationWorkspace.open(app);
    threads = app.get(AnalysisThreads);
  });

  /** Occupies all threads for statistics on behalf of other organizations. Returns a function that releases them. */
  async function occupyThreads(): Promise<() => Promise<void>> {
    let release = (): void => undefined;
    const end = new Promise<void>((resolve) => (release = resolve));
    const started: Promise<void>[] = [];
    const reservations = Array.from({ length: app.get(ComputationPool).threads - 1 }, (_, n) => {
      let start = (): void => undefined;
      started.push(new Promise<void>((resolve) => (start = resolve)));
      return threads.reserve({ orgId: `other ${n}`, workspaceId: 'theirs' }, NEVER, () => {
        start();
        return end;
      });
    });
    await Promise.all(started);
    return async () => {
      release();
      await Promise.all(reservations);
    };
  }

  /** Returns whether one more request of this workspace may wait. */
  async function hasRoom(): Promise<boolean> {
    const client = new AbortController();
    const waits = new Error('the request waits');
    const own = { orgId: space.organization.orgId, workspaceId: space.id } as Scope;
    const waiting = threads.reserve(own, client.signal, () => Promise.resolve());
    client.abort(waits);
    const reason = await waiting.then(
      () => waits,
      (error: unknown) => error,
    );
    if (reason === waits) return true;
    expect((reason as Problem).code).toBe('service_overloaded');
    return false;
  } // oxfmt-ignore

  const pairOf = async (): Promise<[string, string]> => [
    await experimentOf(space, scored('s', [1, 0, 1])),
    await completed(space, scored('s', [0, 0, 1])),
  ];

  it('return further pages of finalized experiments immediately and without statistics', async () => {
    const [candidate, baseline] = await pairOf();
    await space.finalize(candidate);
    const only = { only: 'improved', offset: '1', limit: '1' };
    expect((await compared(space, candidate, baseline, only)).cases.page.total).toBe(1);
    const release = await occupyThreads();
    expect((await compared(space, candidate, baseline, only)).cases.page.total).toBe(1);
    let isSettled = false;
    const first = compare(space, candidate, { baseline_experiment_id: baseline }).finally(() => (isSettled = true));
    const page = await compared(space, candidate, baseline, { offset: '1', limit: '1' });
    expect([page.scorers, page.cases.items.length, isSettled]).toEqual([null, 1, false]);
    await release();
    expect((await first).body.scorers).toHaveLength(1);
    // The statistics are cached now.
    const releaseAgain = await occupyThreads();
    expect((await compared(space, candidate, baseline)).scorers).toEqual((await first).body.scorers);
    await releaseAgain();
  }); // oxfmt-ignore

  it('read the scores of finalized experiments once, and the scores of running experiments for each page', async () => {
    const [candidate, baseline] = await pairOf();
    const reader = app.get(ScoreReader);
    const read = jest.spyOn(reader, 'read');
    const page = (query: Record<string, string>) => compared(space, candidate, baseline, { limit: '1', ...query });
    const cursor = (await page({})).cases.page.next_cursor!;
    const further: Record<string, string>[] = [{ cursor }, { offset: '1' }, { offset: '1', only: 'improved' }];
    for (const query of further) expect((await page(query)).scorers).toBeNull();
    expect(read).toHaveBeenCalledTimes(1 + further.length);
    await space.finalize(candidate);
    // A further page computes no statistics; the first page adds them.
    expect((await page({ offset: '1' })).scorers).toBeNull();
    expect((await page({})).scorers).toHaveLength(1);
    read.mockClear();
    expect((await page({})).scorers).toHaveLength(1);
    for (const query of further) expect((await page(query)).scorers).toBeNull();
    expect(read).not.toHaveBeenCalled();
    read.mockRestore();
  }); // oxfmt-ignore

  it('are rejected when too many wait (503), and no longer wait when their client disconnects', async () => {
    const [candidate, baseline] = await pairOf();
    const release = await occupyThreads();
    const url = `${app.url}${EXPERIMENTS}/${candidate}/compare?baseline_experiment_id=${baseline}`;
    const headers = {
      authorization: `Bearer ${await space.organization.token('viewer')}`,
      'x-service-workspace-id': space.id,
    };
    const clients = Array.from({ length: WAITING_MAX }, () => new AbortController());
    const waiting = clients.map(({ signal }) =>
      fetch(url, { headers, signal }).then(
        (answer) => answer.status,
        () => 'gone',
      ),
    );
    while (await hasRoom()) await delay(5);
    const refused = await compare(space, candidate, { baseline_experiment_id: baseline });
    expect(outcome(refused)).toEqual([503, 'service_overloaded']);
    expect(refused.headers.get('retry-after')).toBe('1');
    // A gate waits in the same queue.
    const rules = [{ scorer: 's', min_mean: 0 }];
    const gate = await space.viewer.post(`${EXPERIMENTS}/${candidate}/gate`, { rules });
    expect(outcome(gate)).toEqual([503, 'service_overloaded']);
    // A request of another workspace takes the place of one of these requests.
    const other = await EvaluationWorkspace.open(app);
    const foreign = await experimentOf(other, scored('s', [1]), {
      baseline_experiment_id: await completed(other, scored('s', [0])),
    });
    const theirs = compare(other, foreign);
    const [shed, status] = await Promise.race(waiting.map(async (one, n) => [n, await one] as const));
    expect(status).toBe(503);

    const aborted = (shed + 1) % WAITING_MAX;
    clients[aborted]!.abort();
    while (!(await hasRoom())) await delay(5);
    await release();
    expect((await theirs).status).toBe(200);
    const statuses = await Promise.all(waiting);
    expect(statuses.filter((status) => status === 200)).toHaveLength(WAITING_MAX - 2);
    expect([statuses[shed], statuses[aborted]]).toEqual([503, 'gone']);
  });

  it('stop when the client disconnects', async () => {
    const [candidate, baseline] = await pairOf();
    const repository = app.get(ComparedResultRepository);
    const read = repository.readResults.bind(repository);
    const client = new AbortController();
    const server = app.app.getHttpServer() as Server;
    const closed = new Promise<void>((resolve) => {
      server.once('request', (_: unknown, response: ServerResponse) => {
        void once(response, 'close').then(() => resolve());
      });
    });
    let sides = 0;
    // The read starts after the service has noticed that the client disconnected.
    repository.readResults = async (...args) => {
      sides++;
      client.abort();
      await closed;
      return read(...args);
    };
    try {
      const url = `${app.url}${EXPERIMENTS}/${candidate}/compare?baseline_experiment_id=${baseline}`;
      const headers = {
        authorization: `Bearer ${await space.organization.token('viewer')}`,
        'x-service-workspace-id': space.id,
      };
      await expect(fetch(url, { headers, signal: client.signal })).rejects.toThrow();
      // The thread is free again, and the other side was not read.
      await (
        await occupyThreads()
      )();
      expect(sides).toBe(1);
    } finally {
      repository.readResults = read;
    }
    expect((await compared(space, candidate, baseline)).scorers).toHaveLength(1);
  });

  /**
   * Requests a comparison with a client that can abort. Returns the client, the status of the response, and a promise
   * that resolves when the service has noticed the disconnect.
   */
  const startRequest = async (candidate: string, baseline: string, query: string) => {
    const client = new AbortController();
    const server = app.app.getHttpServer() as Server;
    const path = `${EXPERIMENTS}/${candidate}/compare?baseline_experiment_id=${baseline}${query}`;
    const closed = new Promise<void>((resolve) => {
      const listener = ({ url }: IncomingMessage, response: ServerResponse): void => {
        if (url !== path) return;
        server.off('request', listener);
        response.once('close', resolve);
      };
      server.on('request', listener);
    });
    const headers = {
      authorization: `Bearer ${await space.organization.token('viewer')}`,
      'x-service-workspace-id': space.id,
    };
    const status = fetch(`${app.url}${path}`, { headers, signal: client.signal }).then(
      (answer) => answer.status,
      () => 'gone',
    );
    return { client, closed, status };
  };

  it('read at most two pages of cases at the same time, and none for disconnected clients', async () => {
    const [candidate, baseline] = await pairOf();
    await space.finalize(candidate);
    await compared(space, candidate, baseline);
    const repository = app.get(ComparedResultRepository);
    const { readRows } = repository;
    let [read, atOnce, most] = [0, 0, 0];
    let release = (): void => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    repository.readRows = async (...args) => {
      if (args[2].resultIds.length === 0) return [];
      read++;
      most = Math.max(most, ++atOnce);
      await released;
      const rows = await readRows.apply(repository, args);
      atOnce--;
      return rows;
    };
    try {
      const pages = Array.from({ length: 5 }, () => compared(space, candidate, baseline));
      while (read < 4) await delay(5);
      const abortedRequest = await startRequest(candidate, baseline, '&limit=2');
      abortedRequest.client.abort();
      // A request for statistics alone reads no page.
      expect((await compared(space, candidate, baseline, { limit: '0' })).scorers).toHaveLength(1);
      release();
      for (const { cases } of await Promise.all(pages)) expect(cases.items).toHaveLength(3);
      expect(await abortedRequest.status).toBe('gone');
      // Each page is read from both experiments, and never twice.
      expect([most, read]).toEqual([4, 10]);
    } finally {
      release();
      repository.readRows = readRows;
    }
  });
});
