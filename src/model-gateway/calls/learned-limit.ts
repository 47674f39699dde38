import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { FairQueue, type Owner, pathOf, SingleFlight } from '#platform/concurrency';
import { rootLogger } from '#platform/logging';
import { LearnedLimitRepository, type ReadLimit, type SharedLimit } from './learned-limit.repository';

/** The outcome of one request to a model. `limited`: 429. `failed`: a retry may succeed. */
export type RequestOutcome = 'answered' | 'limited' | 'refused' | 'failed';

/** How long a process uses the limit that it last read, in ms. */
const REFRESH_MS = 1_000;
/** A limit expires when the model has not returned 429 for this long, in ms. */
const EXPIRY_MS = 600_000;
/** Longest `Retry-After` that delays all processes, in ms. */
const BLOCKED_MAX_MS = 300_000;
/** Models whose limits a process keeps in memory. */
const LIMITS_MAX = 1_000;

/** The work that a request belongs to, such as the scoring of a target. */
export interface LimitedWork {
  /** Owners take turns at a model with a rate limit. */
  readonly owner: Owner;
  /** Aborted when the work is no longer needed. */
  readonly signal: AbortSignal;
  /** Whether a request for the work has been sent. Its further requests then go before those of new work. */
  hasStarted: boolean;
  /** Waits in a queue. The signal ends the wait. */
  queue<Result>(waiting: (signal: AbortSignal) => Promise<Result>): Promise<Result>;
}

/**
 * The rate limit of one model. Requests are unlimited until the model returns 429. From then on, each process obeys
 * `Retry-After` and limits its requests in flight. Each congestion halves that limit, and each full round of answers raises
 * it by one (additive increase, multiplicative decrease, as in TCP). All processes share both values in one row.
 *
 * Organizations take turns in the queue, and so do the workspaces of an organization. Work with an earlier request goes
 * first, because otherwise many targets of a judge could reach their deadline before any of them is finished.
 */
export class LearnedLimit {
  private maxInFlight = Infinity;
  /** As a time of `performance.now()`. */
  private blockedUntil = -Infinity;
  private readAt = -Infinity;
  private inFlight = 0;
  /** Answers since the last increase. */
  private answered = 0;
  /** 429s that are not yet written to the row. */
  private unwritten429s = 0;
  /** Waiting requests of work that has already sent one. */
  private readonly startedQueue = new FairQueue<() => void>();
  /** Waiting requests of all other work. */
  private readonly newQueue = new FairQueue<() => void>();
  /** The last read or write of the row. They run one after another, so that the last one sets the current state. */
  private lastSync: Promise<void> = Promise.resolve();
  private readonly reads = new SingleFlight<void>();
  private wakeUp: NodeJS.Timeout | undefined;

  constructor(
    private readonly model: string,
    private readonly repository: LearnedLimitRepository,
  ) {}

  /** Waits until a request may be sent. Call `release` after the request. Throws the signal's reason when it is aborted. */
  async acquire(call: LimitedWork): Promise<void> {
    const { signal } = call;
    signal.throwIfAborted();
    await this.refresh();
    signal.throwIfAborted();
    if (this.isFree() && this.waitingCount === 0) {
      this.inFlight++;
      return;
    }
    let isAdmitted = false;
    try {
      await call.queue(async (until) => {
        await this.waitForTurn(until, call);
        isAdmitted = true;
      });
    } catch (error) {
      if (isAdmitted) this.freeSlot();
      throw error;
    }
  }

  /** Ends a request. @param end `retryAfterMs`: the model's `Retry-After` */
  release(end: { outcome: RequestOutcome; elapsedMs: number; retryAfterMs: number | undefined }): void {
    const { outcome, elapsedMs, retryAfterMs = 0 } = end;
    if (outcome === 'limited') this.decrease(elapsedMs, retryAfterMs);
    else if (outcome === 'answered') this.increase();
    this.freeSlot();
  }

  private get waitingCount(): number {
    return this.startedQueue.size + this.newQueue.size;
  }

  private isFree(): boolean {
    const isBlocked = this.unwritten429s > 0 || performance.now() < this.blockedUntil;
    return !isBlocked && this.inFlight < this.maxInFlight;
  }

  private waitForTurn(signal: AbortSignal, { hasStarted, owner }: LimitedWork): Promise<void> {
    signal.throwIfAborted();
    const queue = hasStarted ? this.startedQueue : this.newQueue;
    const path = pathOf(owner);
    return new Promise<void>((resolve, reject) => {
      const admit = (): void => {
        signal.removeEventListener('abort', leave);
        resolve();
      };
      const leave = (): void => {
        queue.remove(path, admit);
        reject(signal.reason as Error);
      };
      signal.addEventListener('abort', leave, { once: true });
      queue.push(path, admit);
      this.admit();
    });
  }

  private freeSlot(): void {
    this.inFlight--;
    if (this.waitingCount > 0) void this.refresh().then(() => this.admit());
  }

  private admit(): void {
    while (this.waitingCount > 0 && this.isFree()) {
      this.inFlight++;
      (this.startedQueue.shift() ?? this.newQueue.shift())!();
    }
    const blockedMs = this.blockedUntil - performance.now();
    if (this.waitingCount === 0 || this.wakeUp || blockedMs <= 0) return;
    this.wakeUp = setTimeout(
      () => {
        this.wakeUp = undefined;
        void this.refresh().then(() => this.admit());
      },
      Math.min(blockedMs, REFRESH_MS),
    ).unref();
  }

  private async refresh(): Promise<void> {
    if (performance.now() - this.readAt <= REFRESH_MS) return;
    await this.reads.run('', undefined, () => this.sync(() => this.repository.find(this.model)));
  }

  /** Raises the limit by one after a full round of answers, if requests are waiting. */
  private increase(): void {
    this.answered++;
    if (this.waitingCount === 0 || this.answered < this.maxInFlight) return;
    this.answered = 0;
    void this.sync(() =>
      this.repository.change(
        this.model,
        (limit) => limit && { ...limit, maxInFlight: limit.maxInFlight + 1 },
      ),
    ).then(() => this.admit());
  }

  private decrease(elapsedMs: number, retryAfterMs: number): void {
    const request = { inFlight: this.inFlight, elapsedMs, blockedMs: Math.min(retryAfterMs, BLOCKED_MAX_MS) };
    this.answered = 0;
    this.unwritten429s++;
    void this.sync(() =>
      this.repository.change(this.model, (limit, now) => decreased(unexpired(limit, now), request, now)),
    ).then(() => {
      this.unwritten429s--;
      this.admit();
    });
  }

  /** Reads or writes the row and adopts its state. If that fails, keeps the last known state. */
  private sync(readOrWrite: () => Promise<ReadLimit>): Promise<void> {
    this.lastSync = this.lastSync.then(async () => {
      try {
        const { limit: read, now } = await readOrWrite();
        const limit = unexpired(read, now);
        this.maxInFlight = limit?.maxInFlight ?? Infinity;
        this.blockedUntil = limit ? performance.now() + limit.blockedUntil - now : -Infinity;
      } catch (error) {
        rootLogger.warn(
          { err: error, model: this.model },
          'the rate limit of a model could not be read or written',
        );
      }
      this.readAt = performance.now();
    });
    return this.lastSync;
  }
}

const unexpired = (limit: SharedLimit | null, now: number): SharedLimit | null =>
  limit && now - limit.limitedAt <= EXPIRY_MS ? limit : null;

/**
 * Halves a limit once per congestion: requests sent before the last halving do not halve it again. The first 429 sets the
 * limit to half of the requests that its process had in flight.
 */
export function decreased(
  limit: SharedLimit | null,
  { inFlight, elapsedMs, blockedMs }: { inFlight: number; elapsedMs: number; blockedMs: number },
  now: number,
): SharedLimit {
  const isNewCongestion = !limit || limit.decreasedAt < now - elapsedMs;
  return {
    maxInFlight: isNewCongestion
      ? Math.max(1, Math.floor((limit?.maxInFlight ?? inFlight) / 2))
      : limit.maxInFlight,
    blockedUntil: Math.max(limit?.blockedUntil ?? 0, now + blockedMs),
    decreasedAt: isNewCongestion ? now : limit.decreasedAt,
    limitedAt: now,
  };
}

/** The rate limits of all models that internal calls are retried with. */
@Injectable()
export class LearnedLimits {
  private readonly limits = new LRUCache<string, LearnedLimit>({ max: LIMITS_MAX });

  constructor(private readonly repository: LearnedLimitRepository) {}

  /** @param model identifies the server and its model */
  of(model: string): LearnedLimit {
    const limit = this.limits.get(model) ?? new LearnedLimit(model, this.repository);
    this.limits.set(model, limit);
    return limit;
  }
}
