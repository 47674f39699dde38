import path from 'node:path';
import { Injectable } from '@nestjs/common';
import { OtlpDecodeError, type PackedRequest } from '#otlp';
import type { Scope } from '#platform/auth';
import { isExhausted, type TaskFile, WorkerPool } from '#platform/concurrency';
import { problem } from '#platform/problem';
import type * as tasks from './json-reader.thread';

/** Each thread may take some 300 MB for a hostile body of 16 MiB. One organization uses one thread at a time. */
const THREADS = 2;
const SHARE = 1;
/** `TELEMETRY_QUEUE_BYTES` also bounds the bodies that wait. */
const WAITING_MAX = 1_000;
/** Longer than the default time limit of any request, whose signal normally aborts a task earlier. */
const DEADLINE_MS = 60_000;
const TASKS: TaskFile<typeof tasks> = {
  path: path.join(__dirname, 'json-reader.thread.js'),
  deadlineMs: DEADLINE_MS,
};
const HEAP_MIB = 512;

/** The worker threads that decode large exports in JSON, which cannot be parsed in slices. */
@Injectable()
export class JsonReaderPool extends WorkerPool {
  constructor() {
    super({
      threads: THREADS,
      share: SHARE,
      maxWaiting: WAITING_MAX,
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MIB },
    });
  }

  /**
   * Decodes a body in a thread.
   *
   * @throws OtlpDecodeError if the body cannot be decoded; 503 if decoding takes too much time or memory, or if too many
   *   bodies wait; the signal's reason on abort
   */
  async read(
    scope: Scope,
    signal: AbortSignal,
    body: Parameters<typeof tasks.readJson>[0],
  ): Promise<PackedRequest> {
    let read: ReturnType<typeof tasks.readJson>;
    try {
      read = await this.run(scope, signal, TASKS, 'readJson', body);
    } catch (error) {
      if (!isExhausted(error)) throw error;
      throw problem.unavailable('Reading this export took too much time or memory. Send smaller batches.', {
        headers: { 'Retry-After': '1' },
        cause: error,
      });
    }
    if ('error' in read) throw new OtlpDecodeError(read.error);
    return read;
  }
}
