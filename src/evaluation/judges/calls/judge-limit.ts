import { setTimeout as sleep } from 'node:timers/promises';
import { rootLogger } from '#platform/logging';
import type { JudgeCall } from '../judge-backend';
import type { RequestOutcome } from '../judge.metrics';
import type { JudgeLimitRepository, LimitState } from './judge-limit.repository';

/** How long a process goes by what it knows of a limit while it asks, in ms. */
const REFRESH_MS = 1_000;
/** How often a process that holds permits says so, in ms; much more often than it would be forgotten. */
const RENEW_MS = 4_000;
/** How long to wait before asking again for permits that were not to be had, in ms: half of it to all of it. */
const RETRY_MS = 200;

/** How a request went. */
export interface Left {
  outcome: RequestOutcome;
  elapsedMs: number;
  /** What the judge asked for. */
  retryAfterMs: number | undefined;
}

type EnteringCall = Pick<JudgeCall, 'signal' | 'queue' | 'hasBegun'>;

interface Waiter {
  hasBegun: boolean;
  resolve: () => void;
}

/**
 * How many requests may be under way at one judge, over all processes. As long as it has not answered 429 there is no
 * limit, and asking costs nothing. From then on the limit is halved by each congestion and grows by one with each round
 * of answers (additive increase, multiplicative decrease, as in TCP), and every process takes its permits out of the
 * one row that holds it. A process that dies is forgotten after a while, with its permits.
 */
export class JudgeLimit {
  private state: LimitState = { limit: null, granted: 0, blockedMs: 0 };
  private knownAt = -Infinity;
  /** Requests under way. */
  private held = 0;
  /** Answers that the others have not been told of. */
  private answered = 0;
  private readonly waiting: Waiter[] = [];
  /** What is being said to the others; one thing after another, so that what was said last is what is so. */
  private talk: Promise<void> = Promise.resolve();
  private exchanging: Promise<void> | undefined;
  private isServing = false;
  private renewal: NodeJS.Timeout | undefined;

  constructor(
    private readonly judge: string,
    /** Names it to the others. */
    private readonly holder: string,
    private readonly repository: JudgeLimitRepository,
  ) {}

  /** Waits until another request may be sent; each is followed by one `leave`. Throws the signal's reason when it is aborted. */
  async enter(call: EnteringCall): Promise<void> {
    const { signal } = call;
    signal.throwIfAborted();
    const isStale = performance.now() - this.knownAt > REFRESH_MS;
    if (this.isOpen() && isStale) await this.exchange();
    signal.throwIfAborted();
    if (this.isOpen()) this.held += 1;
    else await this.admitted(call);
  }

  leave({ outcome, elapsedMs, retryAfterMs = 0 }: Left): void {
    this.held -= 1;
    if (outcome === 'answered' && this.state.limit !== null) this.answered += 1;
    if (outcome === 'limited') void this.decrease(elapsedMs, retryAfterMs);
    else if (this.state.limit !== null) void this.exchange();
  }

  /** Waits for a permit. One that came, and cannot be used any more, is given back. */
  private async admitted({ queue, hasBegun }: EnteringCall): Promise<void> {
    let isAdmitted = false;
    try {
      await queue(async (until) => {
        await this.wait(until, hasBegun);
        isAdmitted = true;
      });
    } catch (error) {
      if (isAdmitted) {
        this.held -= 1;
        void this.exchange();
      }
      throw error;
    }
  }

  /** There is no limit, as far as is known. */
  private isOpen(): boolean {
    return this.state.limit === null && this.waiting.length === 0;
  }

  private wait(signal: AbortSignal, hasBegun: boolean): Promise<void> {
    signal.throwIfAborted();
    return new Promise<void>((resolve, reject) => {
      const waiter = {
        hasBegun,
        resolve: (): void => {
          signal.removeEventListener('abort', leave);
          resolve();
        },
      };
      const leave = (): void => {
        this.waiting.splice(this.waiting.indexOf(waiter), 1);
        reject(signal.reason as Error);
      };
      signal.addEventListener('abort', leave, { once: true });
      // what was begun is finished first, or the time of many would be over before that of any is used
      const others = this.waiting.findIndex((one) => !one.hasBegun);
      this.waiting.splice(hasBegun && others >= 0 ? others : this.waiting.length, 0, waiter);
      void this.serve();
    });
  }

  /** Asks for permits until nobody waits. */
  private async serve(): Promise<void> {
    if (this.isServing) return;
    this.isServing = true;
    while (this.waiting.length > 0) {
      await this.exchange();
      if (this.waiting.length === 0) break;
      // a process that ends meanwhile is not held up by it
      await sleep(this.state.blockedMs + RETRY_MS * (0.5 + Math.random() / 2), undefined, { ref: false });
    }
    this.isServing = false;
  }

  /** Tells the others what this process holds, and asks for what it wants; once for all who come before it is said. */
  private exchange(): Promise<void> {
    this.exchanging ??= this.say(async () => {
      this.exchanging = undefined;
      const { answered } = this;
      this.answered = 0;
      try {
        const asked = { holder: this.holder, held: this.held, wanted: this.waiting.length, answered };
        this.state = await this.repository.exchange(this.judge, asked);
        const isAllTaken = this.admit(this.state.granted);
        if (!isAllTaken && this.state.limit !== null) void this.exchange();
      } catch (error) {
        this.answered += answered;
        this.state = { ...this.state, blockedMs: 0 };
        rootLogger.warn({ err: error, judge: this.judge }, 'the limit of a judge could not be read');
        if (this.state.limit === null) this.admit(this.waiting.length);
      }
    });
    return this.exchanging;
  }

  private decrease(elapsedMs: number, retryAfterMs: number): Promise<void> {
    return this.say(async () => {
      try {
        const limited = { holder: this.holder, held: this.held, elapsedMs, retryAfterMs };
        this.answered = 0; // of before it was felt
        this.state = await this.repository.decrease(this.judge, limited);
      } catch (error) {
        rootLogger.warn(
          { err: error, judge: this.judge },
          'the limit of a judge could not be told to others',
        );
      }
    });
  }

  private say(what: () => Promise<void>): Promise<void> {
    this.talk = this.talk.then(what).then(() => {
      this.knownAt = performance.now();
      this.renew();
    });
    return this.talk;
  }

  /** @returns whether so many were waiting still. */
  private admit(count: number): boolean {
    const admitted = this.waiting.splice(0, count);
    for (const waiter of admitted) {
      this.held += 1;
      waiter.resolve();
    }
    return admitted.length === count;
  }

  private renew(): void {
    if (this.renewal || this.held === 0 || this.state.limit === null) return;
    this.renewal = setTimeout(() => {
      this.renewal = undefined;
      void this.exchange();
    }, RENEW_MS).unref();
  }
}
