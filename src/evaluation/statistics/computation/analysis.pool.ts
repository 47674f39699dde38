import { availableParallelism } from 'node:os';
import path from 'node:path';
import { Injectable } from '@nestjs/common';
import { isExhausted, type Owner, type RunTask, WorkerPool } from '#platform/concurrency';
import { problem } from '#platform/problem';
import type * as tasks from './analysis.thread';

/**
 * Maximum number of threads that one organization uses. One more thread exists for the others. Each may hold the scores of
 * a comparison, up to 30 MiB.
 */
const THREADS = Math.min(4, Math.max(2, availableParallelism() - 1));
const WAITING_MAX = 128;
/** Longer than the default time limit of any request, whose signal normally aborts a task earlier. */
const DEADLINE_MS = 120_000;
const HEAP_MIB = 256;
const EXHAUSTED =
  'Computing these statistics took too much time or memory. Try again later, or use smaller experiments.';

/** The worker threads that compute comparisons, gates and agreement. */
@Injectable()
export class AnalysisPool extends WorkerPool<typeof tasks> {
  constructor() {
    super({
      file: path.join(__dirname, 'analysis.thread.js'),
      threads: THREADS + 1,
      share: THREADS,
      maxWaiting: WAITING_MAX,
      deadlineMs: DEADLINE_MS,
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MIB },
    });
  }

  /** Reserves a thread, as in every pool. Errors: in addition, 503 for tasks that take too much time or memory. */
  override async reserve<Answer>(
    owner: Owner,
    signal: AbortSignal,
    work: (runTask: RunTask<typeof tasks>) => Promise<Answer>,
  ): Promise<Answer> {
    try {
      return await super.reserve(owner, signal, work);
    } catch (error) {
      if (!isExhausted(error)) throw error;
      throw problem.unavailable(EXHAUSTED, { headers: { 'Retry-After': '1' }, cause: error });
    }
  }
}
