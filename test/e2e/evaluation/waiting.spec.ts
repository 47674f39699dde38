import { ownApp, type TestApp, until } from '#testing';
import { WorkWaiter } from '../../../src/evaluation/scoring/waiting/work-waiter';
import { ScoringFixture } from './scoring.fixture';

describe('wait_s', () => {
  const app = ownApp({ env: { MAX_REQUESTS_IN_FLIGHT: '10' } });
  let on: ScoringFixture;
  let experiment_id: string;
  let scorer: any;

  beforeAll(async () => {
    on = await ScoringFixture.create(app);
    ({ experiment_id } = await on.experiment());
    await on.result({ experiment_id });
    scorer = await on.scorer();
  });

  /** Orders a run or a batch, which no worker executes. Returns its path. */
  const orderRun = async (): Promise<string> => {
    const { body } = await on.score(scorer, { experiment_id });
    return `/eval/v1/score-runs/${body.score_run_id}`;
  };
  const orderBatch = async (): Promise<string> => {
    const { body } = await on.batch(scorer, { experiment_id });
    return `/eval/v1/score-batches/${body.score_batch_id}`;
  };
  const read = (path: string, waitS: number | string) => on.evaluator.get(`${path}?wait_s=${waitS}`);
  const cancel = (path: string) => on.evaluator.post(`${path}/cancel`);
  const statusOf = ({ status, body }: any) => [status, body.run_status ?? body.batch_status];
  const waiting = (count: number, of: TestApp = app) => {
    const { waiters } = of.get(WorkWaiter) as unknown as { waiters: Set<unknown> };
    return until(() => waiters.size === count);
  };

  it('returns when the work has ended, at once if it has, or after that time', async () => {
    for (const path of [await orderRun(), await orderBatch()]) {
      expect(statusOf(await read(path, 0.1))).toEqual([200, 'queued']);
      const waiter = read(path, 30);
      await waiting(1);
      await cancel(path);
      expect(statusOf(await waiter)).toEqual([200, 'failed']);
      expect(statusOf(await read(path, 30))).toEqual([200, 'failed']);
    }
    expect((await read('/eval/v1/score-runs/run_x', 30)).status).toBe(404);
  });

  it('lets 8 requests of a caller wait, which are not in flight, and a ninth not', async () => {
    const path = await orderRun();
    const waiters = Array.from({ length: 8 }, () => 0).map(async (_, place) => {
      await waiting(place);
      return read(path, 30);
    });
    await waiting(8);
    expect(statusOf(await read(path, 30))).toEqual([200, 'queued']);
    // another caller has places of its own
    const viewer = await on.organization.as('viewer');
    const other = viewer.get(`${path}?wait_s=30`);
    await waiting(9);
    await cancel(path);
    for (const answer of await Promise.all([...waiters, other])) {
      expect(statusOf(answer)).toEqual([200, 'failed']);
    }
  });

  it('frees the place of a client that hangs up', async () => {
    const path = await orderRun();
    const token = await on.organization.token('evaluator');
    const headers = { authorization: `Bearer ${token}`, 'x-service-workspace-id': on.workspaceId };
    const client = new AbortController();
    const hungUp = fetch(`${app.url}${path}?wait_s=30`, { headers, signal: client.signal });
    await waiting(1);
    client.abort();
    await expect(hungUp).rejects.toThrow();
    await waiting(0);
    await cancel(path);
  });

  it('outlasts the time limit of requests, and ends when the process stops', async () => {
    const path = await orderRun();
    const second = await app.another({ REQUEST_TIMEOUT_MS: '1000' });
    const client = second.api(await on.organization.token('evaluator')).in(on.workspaceId);
    expect(statusOf(await client.get(`${path}?wait_s=1.1`))).toEqual([200, 'queued']);
    const waiter = client.get(`${path}?wait_s=30`);
    await waiting(1, second);
    await second.close();
    expect(statusOf(await waiter)).toEqual([200, 'queued']);
    await cancel(path);
  });

  it('answers 304 if the state is still the one that the client has', async () => {
    const path = await orderRun();
    const etag = (await on.evaluator.get(path)).headers.get('etag')!;
    const again = (query: string) =>
      on.evaluator.request('GET', `${path}${query}`, { headers: { 'if-none-match': etag } });
    expect((await again('?wait_s=0.1')).status).toBe(304);
    const waiter = again('?wait_s=30');
    await waiting(1);
    await cancel(path);
    expect(statusOf(await waiter)).toEqual([200, 'failed']);
  });

  it.each(['-1', '30.5', '31', 'soon', '', 'NaN', '1&wait_s=2'])('rejects %j', async (value) => {
    const path = await orderRun();
    for (const one of [path, '/eval/v1/score-batches/batch_x']) {
      const { status, body } = await read(one, value);
      expect([status, body.code, (body.errors as any[])[0].parameter]).toEqual([
        400,
        'invalid_query',
        'wait_s',
      ]);
    }
    await cancel(path);
  });
});
