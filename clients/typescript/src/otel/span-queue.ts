import { context } from '@opentelemetry/api';
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base';
import { UNTRACED } from './context.js';
import { type EncodedSpan, encodeSpan, exportBody } from './otlp.js';

export interface TracingStats {
  /** Spans that the service has stored. */
  sent: number;
  /** Spans that are lost: the queue was full, the service refused them, or the process ended first. */
  dropped: number;
  /** Spans that wait. */
  queued: number;
}

/** Sends a body once. Rejects if the service has not stored it. */
export type PostSpans = (
  body: string,
  options: { timeoutMs: number; signal: AbortSignal },
) => Promise<PartialSuccess>;

/** Spans that the service did not store although it stored the others of the body. */
export interface PartialSuccess {
  rejected: number;
  message?: string;
}

/** An error of a request, as far as the queue reads it. */
interface ExportError {
  status?: number;
  retryAfter?: number | null;
}

export interface SpanQueueOptions {
  post: PostSpans;
  /** Replace attributes of the same name in the resource. */
  resourceAttributes?: Readonly<Record<string, string>>;
  /** Most characters that wait. Further spans are dropped. */
  maxQueueCharacters?: number;
  /** Longest time that a span waits for others, in milliseconds. */
  delayMs?: number;
  /** Reports lost spans, at most once a minute. */
  warn?: (message: string) => void;
}

const BATCH_SPANS = 512;
const BATCH_CHARACTERS = 4 * 1024 * 1024;
/** A longer span exceeds the service's limit for a body. */
const SPAN_CHARACTERS_MAX = 15 * 1024 * 1024;
/** Why spans are lost at the end. */
const ENDED = 'the process ended before they could be sent';
const ATTEMPT_TIMEOUT_MS = 10_000;
const WARNING_INTERVAL_MS = 60_000;
/** The longest delay that a timer of JavaScript can have. */
const TIMER_MAX_MS = 2 ** 31 - 1;
const BACK_OFF_MS = { first: 250, max: 20_000 };

/**
 * Holds the spans that have ended, and sends them in batches. While the service is away, it keeps what it has, drops what
 * exceeds its size, and counts what it drops. Nothing here keeps the process alive but a request that is running.
 */
export class SpanQueue {
  private readonly waiting: EncodedSpan[] = [];
  private characters = 0;
  private accepted = 0;
  private sent = 0;
  private dropped = 0;
  private unreported = { count: 0, reason: '' };
  private warnedAt = -Infinity;
  private draining: Promise<void> | undefined;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private isClosed = false;
  /** Aborts what is being sent. */
  private abort = new AbortController();
  /** Ends the back-off. */
  private wake: () => void = () => undefined;
  private readonly flushes = new Set<() => void>();

  constructor(private readonly options: SpanQueueOptions) {}

  get stats(): TracingStats {
    return { sent: this.sent, dropped: this.dropped, queued: this.accepted - this.settled };
  }

  /** Queues a span that has ended. Never throws and never waits. */
  add(span: ReadableSpan): void {
    this.accepted++;
    try {
      const encoded = encodeSpan(span);
      const { length } = encoded.json;
      if (this.isClosed) this.drop(1, 'tracing was shut down');
      else if (length > SPAN_CHARACTERS_MAX) this.drop(1, `the span "${span.name}" is larger than 15 MiB`);
      else if (this.characters + length > (this.options.maxQueueCharacters ?? 32 * 1024 * 1024))
        this.drop(1, 'the queue is full');
      else {
        this.characters += length;
        this.waiting.push(encoded);
        this.schedule();
      }
    } catch (error) {
      this.drop(1, String(error));
    }
  }

  /**
   * Sends everything that has been added so far.
   *
   * @throws if the service has not answered within the time, or if spans were lost meanwhile
   */
  async flush(timeoutMs: number): Promise<void> {
    const [until, droppedBefore] = [this.accepted, this.dropped];
    if (this.settled < until) {
      this.wake();
      void this.drain();
      await this.settlement(until, timeoutMs);
    }
    if (this.settled < until)
      throw new Error(`${spans(until - this.settled)} not sent within ${timeoutMs / 1000} s.`);
    if (this.dropped > droppedBefore) throw new Error(`${spans(this.dropped - droppedBefore)} dropped.`);
  }

  /** Sends what is possible within the time, and drops the rest. Never rejects. */
  async flushOrDrop(timeoutMs: number): Promise<void> {
    await this.flush(timeoutMs).catch(() => undefined); // counted, and reported below
    const lost = this.waiting.splice(0).length;
    this.characters = 0;
    this.abort.abort();
    this.wake();
    if (lost > 0) this.drop(lost, ENDED);
    await this.draining;
    this.abort = new AbortController();
    this.report(true);
  }

  /** Does the same, and drops spans that end later. */
  close(timeoutMs: number): Promise<void> {
    return this.flushOrDrop(timeoutMs).finally(() => {
      this.isClosed = true;
    });
  }

  private get settled(): number {
    return this.sent + this.dropped;
  }

  private schedule(): void {
    if (this.waiting.length >= BATCH_SPANS || this.characters >= BATCH_CHARACTERS) void this.drain();
    else this.timer ??= unref(setTimeout(() => void this.drain(), this.options.delayMs ?? 1_000));
  }

  private drain(): Promise<void> {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.draining ??= context.with(UNTRACED, () => this.sendAll());
    return this.draining;
  }

  private async sendAll(): Promise<void> {
    await Promise.resolve(); // the caller is the application
    while (this.waiting.length > 0) {
      const batch = this.takeBatch();
      await this.send(batch).catch((error: unknown) => this.drop(batch.length, reasonOf(error)));
    }
    this.draining = undefined; // at once, so that no span is added in between
  }

  private takeBatch(): EncodedSpan[] {
    let [count, characters] = [0, 0];
    while (
      count < Math.min(this.waiting.length, BATCH_SPANS) &&
      (count === 0 || characters < BATCH_CHARACTERS)
    )
      characters += this.waiting[count++]!.json.length;
    this.characters -= characters;
    return this.waiting.splice(0, count);
  }

  /** Sends a batch, again and again while the service is away. */
  private async send(batch: readonly EncodedSpan[]): Promise<void> {
    for (const { resource } of batch)
      if (resource.asyncAttributesPending) await resource.waitForAsyncAttributes?.();
    const body = exportBody(batch, this.options.resourceAttributes ?? {});
    const { signal } = this.abort;
    for (let attempt = 0; ; attempt++) {
      try {
        const { rejected, message } = await this.options.post(body, {
          timeoutMs: ATTEMPT_TIMEOUT_MS,
          signal,
        });
        this.sent += batch.length - rejected;
        if (rejected > 0) this.drop(rejected, message ?? 'the service rejected them');
        return this.onSettled();
      } catch (error) {
        const { status, retryAfter } = error as ExportError;
        if (status === 413 && batch.length > 1) {
          await this.send(batch.slice(0, batch.length >> 1));
          return this.send(batch.slice(batch.length >> 1));
        }
        if (!isTransient(status)) return this.drop(batch.length, reasonOf(error));
        const reason = error === signal.reason ? ENDED : reasonOf(error);
        if (signal.aborted) return this.drop(batch.length, reason);
        this.warn(`The service cannot take spans at the moment. ${this.stats.queued} wait: ${reason}`);
        await this.pause(attempt, retryAfter ?? 0, signal);
        if (signal.aborted) return this.drop(batch.length, reason);
      }
    }
  }

  /** Waits before the next attempt: with exponential back-off and full jitter, and never shorter than `Retry-After`. */
  private pause(attempt: number, retryAfterSeconds: number, signal: AbortSignal): Promise<void> {
    const backOff = Math.random() * Math.min(BACK_OFF_MS.max, BACK_OFF_MS.first * 2 ** attempt);
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, Math.min(Math.max(backOff, retryAfterSeconds * 1_000), TIMER_MAX_MS));
      unref(timer);
      this.wake = () => {
        if (retryAfterSeconds > 0 && !signal.aborted) return;
        clearTimeout(timer);
        resolve();
      };
    });
  }

  private drop(count: number, reason: string): void {
    this.dropped += count;
    this.unreported = { count: this.unreported.count + count, reason };
    this.report();
    this.onSettled();
  }

  private report(isLast = false): void {
    const { count, reason } = this.unreported;
    if (count > 0 && this.warn(`${spans(count)} dropped: ${reason}`, isLast)) this.unreported.count = 0;
  }

  /** Prints a warning unless there was one within the last minute. */
  private warn(message: string, isLast = false): boolean {
    const now = performance.now();
    if (now - this.warnedAt < WARNING_INTERVAL_MS && !isLast) return false;
    this.warnedAt = now;
    (this.options.warn ?? console.warn)(`agent-registry: ${message}`);
    return true;
  }

  private onSettled(): void {
    for (const check of this.flushes) check();
  }

  /** Resolves when so many spans are settled, or after the time. Keeps the process alive until then. */
  private settlement(until: number, timeoutMs: number): Promise<void> {
    return new Promise((resolve) => {
      const end = (): void => {
        clearTimeout(timer);
        this.flushes.delete(check);
        resolve();
      };
      const check = (): void => {
        if (this.settled >= until) end();
      };
      const timer = setTimeout(end, timeoutMs);
      this.flushes.add(check);
    });
  }
}

/** Tells whether an export may succeed later. Errors without a status come from the connection. */
const isTransient = (status: number | undefined): boolean =>
  status === undefined || status === 408 || status === 429 || status >= 500;

function reasonOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  const { cause } = error as { cause?: unknown };
  return cause instanceof Error && cause.message && !text.includes(cause.message)
    ? `${text} (${cause.message})`
    : text;
}

const spans = (count: number): string => (count === 1 ? '1 span was' : `${count} spans were`);

/** Lets the process end before a timer. */
function unref<Timer>(timer: Timer): Timer {
  (timer as { unref?: () => void }).unref?.();
  return timer;
}
