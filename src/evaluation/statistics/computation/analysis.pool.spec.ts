import { TaskTimeout } from '#platform/concurrency';
import { AnalysisPool } from './analysis.pool';

const NEVER = new AbortController().signal;
const A = { orgId: 'a', workspaceId: 'a' };

describe('AnalysisPool', () => {
  const pool = new AnalysisPool();
  afterAll(() => pool.close());

  const outcomeOf = (error: Error) => pool.reserve(A, NEVER, () => Promise.reject(error));

  it.each([
    ['time', new TaskTimeout('compareExperiments', 120_000)],
    ['memory', Object.assign(new Error('out of memory'), { code: 'ERR_WORKER_OUT_OF_MEMORY' })],
  ])('returns 503 if a computation takes too much %s', async (_, cause) => {
    await expect(outcomeOf(cause)).rejects.toMatchObject({
      status: 503,
      code: 'service_unavailable',
      detail: expect.stringContaining('too much time or memory'),
      cause,
    });
  });

  it('rethrows other errors', async () => {
    const error = new Error('a mistake');
    await expect(outcomeOf(error)).rejects.toBe(error);
  });
});
