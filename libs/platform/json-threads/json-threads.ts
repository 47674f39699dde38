import path from 'node:path';
import { Injectable, Module } from '@nestjs/common';
import {
  isExhausted,
  linkedSignal,
  type Owner,
  type RunTask,
  type TaskFile,
  ThreadStartError,
  WorkerPool,
} from '#platform/concurrency';
import {
  INLINE_JSON_MAX,
  JsonInputError,
  type Outline,
  parseJson,
  RawJson,
  scalarPairs,
  sha256OfJson,
} from '#platform/json';
import { Problem } from '#platform/problem';
import * as tasks from './json.thread';
import type { ComparedJson } from './json.thread';
import { expand, VALUES_MAX } from './outline';

const THREADS = 2;
/** Threads that one organization may use at once. The other one is left to other organizations. */
const SHARE = 1;
const WAITING_MAX = 256;
/** Longest time that a value waits for a thread, in milliseconds. */
const WAIT_MS = 10_000;
/** Longest time for one value, in milliseconds. */
const DEADLINE_MS = 15_000;
const TASKS: TaskFile<typeof tasks> = {
  path: path.join(__dirname, 'json.thread.js'),
  deadlineMs: DEADLINE_MS,
};
/**
 * The most complex body takes some 250 MiB, see `MEMORY_MAX`, and twice as much when it is compared or digested. The limit
 * is higher, because V8 may end the whole process, not only the thread, when a parse exceeds the heap of its thread.
 */
const HEAP_MIB = 1_024;
/** Small, because the garbage of large bodies that V8 keeps is several times this size. */
const YOUNG_MIB = 8;
/** Time without work after which a thread ends, in milliseconds. Until then, it retains the memory of its last body. */
const IDLE_MS = 2_000;

const COMPLEX = 'Send a smaller body, or one with fewer values.';

/** The threads in which large JSON is parsed. */
@Injectable()
export class JsonPool extends WorkerPool {
  constructor() {
    super({
      threads: THREADS,
      share: SHARE,
      maxWaiting: WAITING_MAX,
      idleMs: IDLE_MS,
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MIB, maxYoungGenerationSizeMb: YOUNG_MIB },
    });
  }
}

/**
 * Works on JSON over 256 KiB in threads, and on smaller JSON at once. Organizations take turns.
 *
 * Every method throws 413 `payload_too_large` for JSON that takes too much time or memory, 503 `service_overloaded` if no
 * thread is free within 10 seconds, and the signal's reason when it is aborted.
 */
@Injectable()
export class JsonThreads {
  constructor(private readonly pool: JsonPool) {}

  /**
   * Parses a large body with the rules of `parseJson`, and returns it in the form of its outline: free-form values as
   * `RawJson`, and null for the values of unknown members.
   *
   * @throws JsonInputError like `parseJson`; 413 for a body with more than 100,000 values outside its free-form members
   */
  async parse(
    owner: Owner,
    signal: AbortSignal | undefined,
    bytes: Buffer,
    outline: Outline,
  ): Promise<unknown> {
    const part = await this.run(owner, signal, (runTask) => runTask('parse', { bytes, outline }));
    if (part.kind === 'invalid') throw new JsonInputError(part.pointer, part.detail);
    if (part.kind === 'complex') throw tooManyValues();
    if (part.kind === 'costly') throw tooCostly();
    return expand(part.value, outline);
  }

  /**
   * Parses stored JSON with the rules of `parseJson`. Returns it in the form of its outline if it is large.
   *
   * @throws the errors of `parse`, because the typed members of a stored free-form value may never have been checked
   */
  async read(owner: Owner, { text }: RawJson, outline: Outline): Promise<unknown> {
    const bytes = Buffer.from(text);
    if (text.length <= INLINE_JSON_MAX) return parseJson(bytes, outline);
    return await this.parse(owner, undefined, bytes, outline);
  }

  /** Returns the SHA-256 of the canonical form of each value, like `sha256OfJson`. */
  async digests(owner: Owner, values: readonly RawJson[]): Promise<string[]> {
    const length = values.reduce((sum, { text }) => sum + text.length, 0);
    if (length <= INLINE_JSON_MAX) return values.map(sha256OfJson);
    const texts = values.map(({ text }) => text);
    return this.run(owner, undefined, (runTask) => runTask('digests', texts));
  }

  /** Compares the values of each pair, like `jsonChanges`. Null means that there is no value. */
  compare(
    owner: Owner,
    pairs: readonly (readonly [before: RawJson | null, after: RawJson | null])[],
  ): Promise<ComparedJson[]> {
    const texts = pairs.map(([before, after]) => ({
      before: before?.text ?? null,
      after: after?.text ?? null,
    }));
    const length = texts.reduce(
      (sum, { before, after }) => sum + (before?.length ?? 0) + (after?.length ?? 0),
      0,
    );
    if (length <= INLINE_JSON_MAX) return Promise.resolve(tasks.compare(texts));
    return this.run(owner, undefined, (runTask) => runTask('compare', texts));
  }

  /** Returns the names and descriptions of the properties of each JSON Schema, like `schemaWords`. */
  schemaWords(owner: Owner, schemas: readonly RawJson[], max: number): Promise<string[]> {
    const texts = schemas.map(({ text }) => text);
    const length = texts.reduce((sum, text) => sum + text.length, 0);
    if (length <= INLINE_JSON_MAX) return Promise.resolve(tasks.words({ texts, max }));
    return this.run(owner, undefined, (runTask) => runTask('words', { texts, max }));
  }

  /** Returns the pairs of the scalars in an object, parsed or not, like `scalarPairs`. */
  async pairs(owner: Owner, object: object): Promise<string[]> {
    if (!(object instanceof RawJson)) return scalarPairs(object);
    const { text } = object;
    if (text.length <= INLINE_JSON_MAX) return scalarPairs(object.parseExactly());
    return this.run(owner, undefined, (runTask) => runTask('pairs', text));
  }

  private async run<Result>(
    owner: Owner,
    signal: AbortSignal | undefined,
    work: (runTask: RunTask<typeof tasks>) => Promise<Result>,
  ): Promise<Result> {
    const waiting = new AbortController();
    const timer = setTimeout(() => waiting.abort(overloaded()), WAIT_MS);
    const linked = linkedSignal(signal, waiting.signal);
    try {
      return await this.pool.reserve(owner, linked.signal, TASKS, (runTask) => {
        clearTimeout(timer);
        return work(runTask);
      });
    } catch (error) {
      if (isExhausted(error)) throw tooCostly(error);
      throw error instanceof ThreadStartError ? overloaded(error) : error;
    } finally {
      clearTimeout(timer);
      linked.unlink();
    }
  }
}

const tooCostly = (cause?: unknown): Problem =>
  new Problem('payload_too_large', `The JSON takes too much time or memory to read. ${COMPLEX}`, { cause });

const tooManyValues = (): Problem =>
  new Problem(
    'payload_too_large',
    `The body has more than ${VALUES_MAX} values outside its free-form members. ${COMPLEX}`,
  );

const overloaded = (cause?: Error): Problem =>
  new Problem('service_overloaded', 'Too many large bodies are waiting. Try again shortly.', {
    headers: { 'Retry-After': '1' },
    cause,
  });

/** Provides the threads for large JSON. */
@Module({ providers: [JsonPool, JsonThreads], exports: [JsonThreads] })
export class JsonThreadsModule {}
