import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { FairQueue, pathOf } from '#platform/concurrency';
import { rootLogger } from '#platform/logging';
import type { JudgeCall } from '../judge-backend';
import type { RequestOutcome } from '../judge.metrics';
import { JudgeLimitRepository, type ReadLimit, type SharedLimit } from './judge-limit.repository';

/** How long a process uses what it read of a limit, in ms. */
const REFRESH_MS = 1_000;
/** A limit ends when the judge has not answered 429 for this long, in ms. */
const FORGOTTEN_MS = 600_000;
/** Longest `Retry-After` that holds back all processes, in ms. */
const BLOCKED_MAX_MS = 300_000;
/** Judges whose limits a process remembers. */
const LIMITS_MAX = 1_000;

/** How a request to a judge ended. */
export interface RequestEnd {
  outcome: RequestOutcome;
  elapsedMs: number;
  /** The judge's `Retry-After`. */
  retryAfterMs: number | undefined;
}

type EnteringCall = Pick<JudgeCall, 'signal' | 'queue' | 'hasBegun' | 'owner'>;

/**
 * The rate limit of one judge. Until it answers 429 there is none. Then each process keeps to a concurrency that is
 * halved by every congestion and grows by one with each full round of answers (additive increase, multiplicative
 * decrease, as in TCP), and to the judge's `Retry-After`. Both are in one row that all processes share.
 *
 * Requests wait in a queue in which organizations take turns, and so do the workspaces of each. Targets that have been asked about before go first, because
 * otherwise the time of many targets would end before that of any is used.
 */
export class JudgeLimit {
  private maxInFlight = Infinity;
  /** By `performance.now()`. */
  private blockedUntil = -Infinity;
  private readAt = -Infinity;
  private inFlight = 0;
  /** Answers since the limit last grew. */
  private answered = 0;
  /** 429s that are not yet written to the row. */
  private unsent429s = 0;
  private readonly begun = new FairQueue<() => void>();
  private readonly fresh = new FairQueue<() => void>();
  /** Reads and writes of the row, one after another, so that the last one leaves the present state. */
  private exchange: Promise<void> = Promise.resolve();
  private reading: Promise<void> | undefined;
  private wakeUp: NodeJS.Timeout | undefined;

  constructor(
    private readonly judge: string,
    private readonly repository: JudgeLimitRepository,
  ) {}

  /** Waits until a request may be sent. Follow it by one `leave`. Throws the signal's reason when it is aborted. */
  async enter(call: EnteringCall): Promise<void> {
    const { signal, queue } = call;
    signal.throwIfAborted();
    await this.refresh();
    signal.throwIfAborted();
    if (this.isFree() && this.waitingCount === 0) {
      this.inFlight++;
      return;
    }
    let isAdmitted = false;
    try {
      await queue(async (until) => {
        await this.turn(until, call);
        isAdmitted = true;
      });
    } catch (error) {
      if (isAdmitted) this.release();
      throw error;
    }
  }

  leave({ outcome, elapsedMs, retryAfterMs = 0 }: RequestEnd): void {
    if (outcome === 'limited') this.decrease(this.inFlight, elapsedMs, retryAfterMs);
    else if (outcome === 'answered') this.increase();
    this.release();
  }

  private get waitingCount(): number {
    return this.begun.size + this.fresh.size;
  }

  private isFree(): boolean {
    const isBlocked = this.unsent429s > 0 || performance.now() < this.blockedUntil;
    return !isBlocked && this.inFlight < this.maxInFlight;
  }

  private turn(signal: AbortSignal, { hasBegun, owner }: EnteringCall): Promise<void> {
    signal.throwIfAborted();
    const queue = hasBegun ? this.begun : this.fresh;
    const path = pathOf(owner);
    return new Promise<void>((resolve, reject) => {
      const begin = (): void => {
        signal.removeEventListener('abort', leave);
        resolve();
      };
      const leave = (): void => {
        queue.remove(path, begin);
        reject(signal.reason as Error);
      };
      signal.addEventListener('abort', leave, { once: true });
      queue.push(path, begin);
      this.admit();
    });
  }

  private release(): void {
    this.inFlight--;
    if (this.waitingCount > 0) void this.refresh().then(() => this.admit());
  }

  private admit(): void {
    while (this.waitingCount > 0 && this.isFree()) {
      this.inFlight++;
      (this.begun.shift() ?? this.fresh.shift())!();
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

  private refresh(): Promise<void> {
    if (performance.now() - this.readAt <= REFRESH_MS) return Promise.resolve();
    this.reading ??= this.exchangeLimit(() => this.repository.find(this.judge)).finally(
      () => (this.reading = undefined),
    );
    return this.reading;
  }

  /** Grows the limit by one after a round of answers in which it held somebody back. */
  private increase(): void {
    this.answered++;
    if (this.waitingCount === 0 || this.answered < this.maxInFlight) return;
    this.answered = 0;
    void this.exchangeLimit(() =>
      this.repository.change(
        this.judge,
        (limit) => limit && { ...limit, maxInFlight: limit.maxInFlight + 1 },
      ),
    ).then(() => this.admit());
  }

  private decrease(inFlight: number, elapsedMs: number, retryAfterMs: number): void {
    const blockedMs = Math.min(retryAfterMs, BLOCKED_MAX_MS);
    this.answered = 0;
    this.unsent429s++;
    void this.exchangeLimit(() =>
      this.repository.change(this.judge, (limit, now) =>
        decreased(livingLimit(limit, now), { inFlight, elapsedMs, blockedMs }, now),
      ),
    ).then(() => {
      this.unsent429s--;
      this.admit();
    });
  }

  /** Reads or writes the row. A failure leaves what is known as it is. */
  private exchangeLimit(exchange: () => Promise<ReadLimit>): Promise<void> {
    this.exchange = this.exchange.then(async () => {
      try {
        const { limit: read, now } = await exchange();
        const limit = livingLimit(read, now);
        this.maxInFlight = limit?.maxInFlight ?? Infinity;
        this.blockedUntil = limit ? performance.now() + limit.blockedUntil - now : -Infinity;
      } catch (error) {
        rootLogger.warn(
          { err: error, judge: this.judge },
          'the rate limit of a judge could not be exchanged',
        );
      }
      this.readAt = performance.now();
    });
    return this.exchange;
  }
}

const livingLimit = (limit: SharedLimit | null, now: number): SharedLimit | null =>
  limit && now - limit.limitedAt <= FORGOTTEN_MS ? limit : null;

/**
 * Halves a limit, once for each congestion: a request that was sent before the last halving tells nothing new. The first
 * 429 sets the limit to half of the requests that its process had in flight.
 */
export function decreased(
  limit: SharedLimit | null,
  { inFlight, elapsedMs, blockedMs }: { inFlight: number; elapsedMs: number; blockedMs: number },
  now: number,
): SharedLimit {
  const isNew = !limit || limit.decreasedAt < now - elapsedMs;
  return {
    maxInFlight: isNew ? Math.max(1, Math.floor((limit?.maxInFlight ?? inFlight) / 2)) : limit.maxInFlight,
    blockedUntil: Math.max(limit?.blockedUntil ?? 0, now + blockedMs),
    decreasedAt: isNew ? now : limit.decreasedAt,
    limitedAt: now,
  };
}

/** The rate limits of all judges, one for each backend and model. */
@Injectable()
export class JudgeLimits {
  private readonly limits = new LRUCache<string, JudgeLimit>({ max: LIMITS_MAX });

  constructor(private readonly repository: JudgeLimitRepository) {}

  of(backend: string, model: string): JudgeLimit {
    const judge = `${backend}:${model}`;
    const known = this.limits.get(judge) ?? new JudgeLimit(judge, this.repository);
    this.limits.set(judge, known);
    return known;
  }
}
