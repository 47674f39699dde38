import { AsyncResource } from 'node:async_hooks';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { Injectable, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { FairLimiter, FairQueue, type OwnerPath } from '#platform/concurrency';
import { Environment } from '#platform/config';
import { endingOf, onEnd, type ServiceRequest } from '#platform/http';
import { type Counter, type Gauge, Metrics } from '#platform/metrics';
import { type Problem, problem } from '#platform/problem';

/** Interval at which the delay of the event loop is measured, in milliseconds. */
const SAMPLE_MS = 500;
const RESOLUTION_MS = 10;

/** Requests that start in one turn of the event loop. Each takes up to half a millisecond. */
const STARTS_PER_TURN = 16;

/** A caller with at most this many requests in flight is not shed when the event loop is late, because it is not the cause. */
const ALWAYS_ADMITTED = 8;

/** Requests without a verified credential that one address may have in flight. Further ones wait. */
const UNVERIFIED_PER_ADDRESS = 64;
const UNVERIFIED_WAIT_MS = 10_000;

/** Callers that are not known yet: requests without a credential, and requests whose credential has to be verified. */
type UnknownCaller = 'anonymous' | 'unverified';

/**
 * Lets callers take turns when many requests arrive, and sheds requests with 503 `service_overloaded` if too many are in
 * flight or the event loop is late. An organization can have half of all requests in flight, and so can all requests with
 * an unverified credential together, and all requests without a credential together. One address can have 64 requests
 * with an unverified credential, and 64 without a credential. Its further requests wait, because the requests of many
 * valid clients arrive together when their tokens are new.
 */
@Injectable()
export class LoadShedder implements OnApplicationBootstrap, OnModuleDestroy {
  private readonly requestsInFlight: Gauge<never>;
  private readonly inFlightByOwner = new Map<string, number>();
  private inFlight = 0;
  /** For requests whose organization is not known yet. */
  private readonly unknown: Readonly<Record<UnknownCaller, FairLimiter>>;
  private readonly waiting = new FairQueue<() => void>();
  /** Requests that started in this turn of the event loop. */
  private started = 0;
  private endOfTurn: NodeJS.Immediate | undefined;
  private readonly delays = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  private delayMs = 0;
  private sampling: NodeJS.Timeout | undefined;
  private readonly shed: Counter<'reason'>;

  constructor(
    private readonly environment: Environment,
    metrics: Metrics,
  ) {
    const half = this.share;
    this.requestsInFlight = metrics.gauge('http_requests_in_flight', 'Requests in flight.', []);
    this.shed = metrics.counter('http_requests_shed_total', 'Requests rejected because of overload.', [
      'reason',
    ]);
    const limiter = (): FairLimiter =>
      new FairLimiter({
        concurrency: half,
        share: Math.min(half, UNVERIFIED_PER_ADDRESS),
        maxWaiting: half,
        maxWaitMs: UNVERIFIED_WAIT_MS,
      });
    this.unknown = { anonymous: limiter(), unverified: limiter() };
  }

  onApplicationBootstrap(): void {
    this.delays.enable();
    this.sampling = setInterval(() => this.sample(), SAMPLE_MS).unref();
  }

  onModuleDestroy(): void {
    clearInterval(this.sampling);
    this.delays.disable();
  }

  /**
   * Starts a request at once, or in its caller's turn when many requests arrive, so that a flood delays only its sender.
   * Only a few requests start in one turn of the event loop, so that the loop is never late.
   *
   * @param turnOf returns the owner whose turn a request waits for
   */
  queue(
    request: IncomingMessage,
    response: ServerResponse,
    turnOf: (request: IncomingMessage) => OwnerPath,
    start: () => void,
  ): void {
    this.endOfTurn ??= setImmediate(() => this.beginTurn());
    if (this.started < STARTS_PER_TURN && this.waiting.size === 0) {
      this.started++;
      return start();
    }
    (request as ServiceRequest).receivedAt = performance.now();
    // Keeps the context of this request, because another request's context is active when it starts. On Node 20,
    // `AsyncResource.bind` would take some 50 µs instead of 0.5.
    const context = new AsyncResource('QueuedRequest');
    this.waiting.push(turnOf(request), () => {
      if (!response.destroyed) context.runInAsyncScope(start);
    });
  }

  private beginTurn(): void {
    this.endOfTurn = undefined;
    for (this.started = 0; this.started < STARTS_PER_TURN && this.waiting.size > 0; this.started++) {
      this.waiting.shift()!();
    }
    if (this.waiting.size > 0) this.endOfTurn ??= setImmediate(() => this.beginTurn());
  }

  /**
   * Counts a request of an owner until it has ended. Throws 503.
   *
   * @param onLeave called when the request has ended, or counts for another owner
   * @returns a function that counts the request for another owner
   */
  enter(
    owner: string,
    request: ServiceRequest,
    response: ServerResponse,
    onLeave?: () => void,
  ): (owner: string) => void {
    if (this.isFull(owner)) throw this.refusal('in_flight');
    let countedFor = owner;
    let isCounted = true;
    let hasEnded = false;
    this.count(owner, 1);
    request.setIdle = (isIdle) => {
      if (hasEnded || isCounted !== isIdle) return;
      isCounted = !isIdle;
      this.count(countedFor, isCounted ? 1 : -1);
    };
    onEnd(request, response, () => {
      hasEnded = true;
      if (isCounted) this.count(countedFor, -1);
      onLeave?.();
    });
    if (this.isLate && this.inFlightOf(owner) > ALWAYS_ADMITTED) throw this.refusal('event_loop');
    return (newOwner) => {
      // a closed response no longer counts
      if (response.closed || response.destroyed || this.isFull(newOwner)) return;
      this.count(countedFor, -1);
      this.count(newOwner, 1);
      countedFor = newOwner;
      onLeave?.();
    };
  }

  /** Half of all requests in flight. */
  private get share(): number {
    return Math.ceil(this.environment.MAX_REQUESTS_IN_FLIGHT / 2);
  }

  private isFull(owner: string): boolean {
    return this.inFlight >= this.environment.MAX_REQUESTS_IN_FLIGHT || this.inFlightOf(owner) >= this.share;
  }

  private inFlightOf(owner: string): number {
    return this.inFlightByOwner.get(owner) ?? 0;
  }

  private count(owner: string, change: 1 | -1): void {
    const own = this.inFlightOf(owner) + change;
    if (own > 0) this.inFlightByOwner.set(owner, own);
    else this.inFlightByOwner.delete(owner);
    this.inFlight += change;
    this.requestsInFlight.set({}, this.inFlight);
  }

  /**
   * Counts a request of an unknown caller until it has ended, or until the returned function moves it to its owner. Waits
   * while its address has too many of them. Throws 503.
   */
  enterUnknown(
    caller: UnknownCaller,
    address: string,
    request: ServiceRequest,
    response: ServerResponse,
  ): Promise<(owner: string) => void> {
    const { signal } = endingOf(request, response);
    return new Promise((resolve, reject) => {
      const begun = (leave: () => void): void => {
        try {
          resolve(this.enter(caller, request, response, leave));
        } catch (error) {
          leave();
          reject(error as Problem);
        }
      };
      this.unknown[caller]
        .run(address, signal, () => new Promise<void>(begun))
        .catch(() => reject(signal.aborted ? (signal.reason as Problem) : this.refusal('in_flight')));
    });
  }

  private refusal(reason: 'in_flight' | 'event_loop'): Problem {
    this.shed.inc({ reason });
    return problem.overloaded('The service is handling too many requests. Try again shortly.');
  }

  private get isLate(): boolean {
    return this.delayMs > this.environment.EVENT_LOOP_DELAY_LIMIT_MS;
  }

  private sample(): void {
    const { mean } = this.delays;
    this.delayMs = Number.isFinite(mean) ? mean / 1e6 - RESOLUTION_MS : 0;
    this.delays.reset();
  }
}
