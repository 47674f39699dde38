import { ComputationPool, TaskTimeout } from '#platform/concurrency';
import { AnalysisThreads } from './analysis.threads';

const NEVER = new AbortController().signal;
const A = { orgId: 'a', workspaceId: 'a' };

describe('AnalysisThreads', () => {
  const pool = new ComputationPool();
  afterAll(() => pool.close());

  const outcomeOf = (error: Error) =>
    new AnalysisThreads(pool).reserve(A, NEVER, () => Promise.reject(error));

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
