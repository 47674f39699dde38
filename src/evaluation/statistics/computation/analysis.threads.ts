import path from 'node:path';
import { Injectable } from '@nestjs/common';
import {
  ComputationPool,
  FairLimiter,
  isExhausted,
  type Owner,
  type RunTask,
  type TaskFile,
} from '#platform/concurrency';
import { problem } from '#platform/problem';
import type * as tasks from './analysis.thread';

/** The deadline is longer than the default time limit of any request, whose signal normally aborts a task earlier. */
const TASKS: TaskFile<typeof tasks> = {
  path: path.join(__dirname, 'analysis.thread.js'),
  deadlineMs: 120_000,
};
const EXHAUSTED =
  'Computing these statistics took too much time or memory. Try again later, or use smaller experiments.';

const WAITING_MAX = 128;

/** Computes comparisons, gates and agreement in worker threads. Always leaves one thread to other computations. */
@Injectable()
export class AnalysisThreads {
  private readonly limiter: FairLimiter;

  constructor(private readonly pool: ComputationPool) {
    this.limiter = new FairLimiter({ share: pool.threads - 2, maxWaiting: WAITING_MAX });
  }

  /** Reserves a thread, see `WorkerPool.reserve`. Errors: in addition, 503 for tasks that take too much time or memory. */
  async reserve<Answer>(
    owner: Owner,
    signal: AbortSignal,
    work: (runTask: RunTask<typeof tasks>) => Promise<Answer>,
  ): Promise<Answer> {
    try {
      return await this.limiter.run(owner, signal, () => this.pool.reserve(owner, signal, TASKS, work));
    } catch (error) {
      if (!isExhausted(error)) throw error;
      throw problem.unavailable(EXHAUSTED, { headers: { 'Retry-After': '1' }, cause: error });
    }
  }
}
