import { JobHandedBack, JobPoisoned, type WorkerShutdown } from '#platform/jobs';
import { rootLogger } from '#platform/logging';
import type { RunExecutionService } from './run-execution.service';
import { ScoreRunExecutor } from './score-run.executor';

const NEXT = { score_run_id: 'run_next', workspace_id: 'ws_other', org_id: 'org_other' };
const unused = {} as never;

describe('a job whose turn executes a run that fails', () => {
  afterEach(() => jest.restoreAllMocks());

  it.each([
    ['run_next', new Error('mistake'), Error, []],
    ['run_next', new JobPoisoned('mistake'), JobPoisoned, []],
    ['run_own', new Error('mistake'), JobHandedBack, [NEXT]],
    ['run_own', new JobPoisoned('mistake'), JobHandedBack, [NEXT]],
    ['run_own', new JobHandedBack(), JobHandedBack, []],
  ])('of %s, after %s, fails only if the run is its own', async (jobRunId, error, expected, logged) => {
    const errors = jest.spyOn(rootLogger, 'error').mockReturnValue(undefined);
    const execution: Pick<RunExecutionService, 'execute'> = {
      execute: ({ lease }) => {
        lease.end();
        return Promise.reject(error);
      },
    };
    const executor = new ScoreRunExecutor(
      { WORKER_RUNS: 1, SCORE_RUN_SECONDS: 60 } as never,
      { claim: () => Promise.resolve(NEXT) } as never,
      unused,
      execution as RunExecutionService,
      unused,
      { stopping: new AbortController().signal } as WorkerShutdown,
    );
    const thrown = await executor.executeNext(jobRunId).catch((caught: unknown) => caught);
    expect((thrown as Error).constructor).toBe(expected);
    expect(errors.mock.calls.map(([members]) => members)).toEqual(
      logged.map((ids) => ({ ...ids, err: error })),
    );
  });
});
