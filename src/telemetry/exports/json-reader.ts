import path from 'node:path';
import { Injectable } from '@nestjs/common';
import { OtlpDecodeError, type PackedRequest } from '#otlp';
import type { Scope } from '#platform/auth';
import { ComputationPool, FairLimiter, isExhausted, type TaskFile } from '#platform/concurrency';
import { problem } from '#platform/problem';
import type * as tasks from './json-reader.thread';

/**
 * A hostile body of 16 MiB may take some 300 MB, so at most two bodies are decoded at once, and one of each organization.
 * `TELEMETRY_QUEUE_BYTES` also bounds the bodies that wait.
 */
const LIMITS = { concurrency: 2, share: 1, maxWaiting: 1_000 };

/** The deadline is longer than the default time limit of any request, whose signal normally aborts a task earlier. */
const TASKS: TaskFile<typeof tasks> = {
  path: path.join(__dirname, 'json-reader.thread.js'),
  deadlineMs: 60_000,
};

/** Decodes large exports in JSON, which cannot be parsed in slices, in worker threads. */
@Injectable()
export class JsonReader {
  private readonly limiter = new FairLimiter(LIMITS);

  constructor(private readonly pool: ComputationPool) {}

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
      read = await this.limiter.run(scope, signal, () =>
        this.pool.run(scope, signal, TASKS, 'readJson', body),
      );
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
