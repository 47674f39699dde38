import path from 'node:path';
import { Injectable } from '@nestjs/common';
import { OtlpDecodeError, type PackedRequest } from '#otlp';
import type { Scope } from '#platform/auth';
import { isExhausted, WorkerPool } from '#platform/concurrency';
import { problem } from '#platform/problem';
import type * as tasks from './json-reader.thread';

/** Each may take some 300 MB for a hostile body of 16 MiB. One organization uses one of them at a time. */
const THREADS = 2;
const SHARE = 1;
/** `TELEMETRY_QUEUE_BYTES` bounds the bodies that wait. */
const WAITING_MAX = 1_000;
/** Longer than the default time limit of any request. The request's signal ends a task earlier. */
const DEADLINE_MS = 60_000;
const HEAP_MIB = 512;

/** The threads that decode large exports in JSON, which cannot be parsed in slices. */
@Injectable()
export class JsonReaderPool extends WorkerPool<typeof tasks> {
  constructor() {
    super({
      file: path.join(__dirname, 'json-reader.thread.js'),
      threads: THREADS,
      share: SHARE,
      maxWaiting: WAITING_MAX,
      deadlineMs: DEADLINE_MS,
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MIB },
    });
  }

  /**
   * Decodes a body in a thread.
   *
   * @throws OtlpDecodeError if it cannot be decoded; 503 if it takes too much time or memory, or if too many bodies wait;
   *   the signal's reason when it is aborted
   */
  async read(
    scope: Scope,
    signal: AbortSignal,
    body: Parameters<typeof tasks.readJson>[0],
  ): Promise<PackedRequest> {
    let read: ReturnType<typeof tasks.readJson>;
    try {
      read = await this.run(scope, signal, 'readJson', body);
    } catch (error) {
      if (!isExhausted(error)) throw error;
      throw problem.unavailable('Reading this export took too much time or memory. Send smaller batches.', {
        headers: { 'Retry-After': '1' },
        cause: error,
      });
    }
    if ('refusal' in read) throw new OtlpDecodeError(read.refusal);
    return read;
  }
}
