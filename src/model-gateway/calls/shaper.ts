import path from 'node:path';
import { Injectable } from '@nestjs/common';
import { isExhausted, type Owner, type TaskFile, WorkerPool } from '#platform/concurrency';
import { Problem } from '#platform/problem';
import type { AnswerFacts } from './answer-shapes';
import type { Inspected, RequestFault, Shape } from './request-shapes';
import * as tasks from './shaping.thread';
import type { AnswerInput } from './shaping.thread';

/** Size of the largest body that is processed on the event loop, in bytes. */
const INLINE_MAX = 256 * 1024;
const THREADS = 2;
/** Threads that one organization may use at once, so that one thread is left for the others. */
const SHARE = 1;
const WAITING_MAX = 256;
/** Maximum time for one body, in milliseconds. */
const DEADLINE_MS = 15_000;
const TASKS: TaskFile<typeof tasks> = {
  path: path.join(__dirname, 'shaping.thread.js'),
  deadlineMs: DEADLINE_MS,
};
const HEAP_MIB = 1_024;
const IDLE_MS = 2_000;

/** The threads that read and write large requests and answers. */
@Injectable()
export class ShapingPool extends WorkerPool {
  constructor() {
    super({
      threads: THREADS,
      share: SHARE,
      maxWaiting: WAITING_MAX,
      idleMs: IDLE_MS,
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MIB, maxYoungGenerationSizeMb: 8 },
    });
  }
}

/**
 * Reads and writes the bodies of calls. Bodies of more than 256 KiB are processed in threads, so that they do not block the event
 * loop. Throws 413 for a body that takes too much time or memory, and 503 if too many bodies wait.
 */
@Injectable()
export class Shaper {
  constructor(private readonly pool: ShapingPool) {}

  inspect(owner: Owner, signal: AbortSignal, bytes: Buffer): Promise<Inspected> {
    return bytes.length <= INLINE_MAX
      ? Promise.resolve(tasks.inspectBytes(bytes))
      : withinLimits(TOO_LARGE, this.pool.run(owner, signal, TASKS, 'inspectBytes', bytes));
  }

  async shape(
    owner: Owner,
    signal: AbortSignal,
    bytes: Buffer,
    shape: Shape,
  ): Promise<{ bytes: Uint8Array } | { fault: RequestFault }> {
    return bytes.length <= INLINE_MAX
      ? tasks.shapeBytes({ bytes, shape })
      : withinLimits(TOO_LARGE, this.pool.run(owner, signal, TASKS, 'shapeBytes', { bytes, shape }));
  }

  async answer(
    owner: Owner,
    signal: AbortSignal,
    input: AnswerInput,
  ): Promise<{ bytes: Uint8Array; facts: AnswerFacts } | { fault: string }> {
    return input.bytes.length + input.request.length <= INLINE_MAX
      ? tasks.shapeAnswerBytes(input)
      : withinLimits(ANSWER_TOO_LARGE, this.pool.run(owner, signal, TASKS, 'shapeAnswerBytes', input));
  }
}

const TOO_LARGE = 'The body takes too much time or memory to read. Send a smaller one.';
const ANSWER_TOO_LARGE =
  'The response of the model takes too much time or memory to read. Request a smaller one.';

async function withinLimits<Result>(detail: string, work: Promise<Result>): Promise<Result> {
  try {
    return await work;
  } catch (error) {
    if (!isExhausted(error)) throw error;
    throw new Problem('payload_too_large', detail, { cause: error });
  }
}
