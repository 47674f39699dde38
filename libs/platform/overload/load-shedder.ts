import { AsyncResource } from 'node:async_hooks';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { Injectable, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Authenticator } from '#platform/auth';
import {
  ByteBudget,
  type ByteLease,
  FairLimiter,
  FairQueue,
  type OwnerPath,
  PLATFORM_OWNER,
} from '#platform/concurrency';
import { Environment } from '#platform/config';
import { endingOf, onEnd, pathOf, type ServiceRequest } from '#platform/http';
import { type Counter, type Gauge, Metrics } from '#platform/metrics';
import { type Problem, problem } from '#platform/problem';
import { ClientAddresses } from '#platform/rate-limit';

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

const EXEMPT = /^\/health\//;
/** Routes that need no credential. A credential that is sent to them is ignored. */
const PUBLIC = /^\/(openapi\.json|docs|\.well-known|registry\/v1\/tokens$)/;
const BEARER = /^bearer +(\S+)$/i;

/** Owners that are not organizations. */
const ANONYMOUS = 'anonymous';
const UNVERIFIED = 'unverified';

/** Continues with the request, or ends it with this problem. */
type Next = (rejection?: Problem) => void;

/**
 * Lets callers take turns when many requests arrive, and sheds requests before authentication with 503
 * `service_overloaded` if too many are in flight or the event loop is late. An organization can have half of all requests
 * in flight, and so can all requests with an unverified credential together, and all requests without a credential
 * together. One address can have 64 requests with an unverified credential, and 64 without a credential. Its further
 * requests wait, because the requests of many valid clients arrive together when their tokens are new.
 *
 * The organization of a request is known before authentication if its credential was verified within the last
 * `AUTH_CACHE_SECONDS`.
 */
@Injectable()
export class LoadShedder implements OnApplicationBootstrap, OnModuleDestroy {
  /** Counts requests instead of bytes. */
  private readonly inFlight: ByteBudget;
  /** For requests whose organization is not known yet. */
  private readonly unknown: ReadonlyMap<string, FairLimiter>;
  private readonly waiting = new FairQueue<() => void>();
  /** Requests that started in this turn of the event loop. */
  private started = 0;
  private endOfTurn: NodeJS.Immediate | undefined;
  private readonly delays = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  private delayMs = 0;
  private sampling: NodeJS.Timeout | undefined;
  private readonly requestsInFlight: Gauge<never>;
  private readonly shed: Counter<'reason'>;

  constructor(
    private readonly environment: Environment,
    private readonly authenticator: Authenticator,
    private readonly addresses: ClientAddresses,
    metrics: Metrics,
  ) {
    const total = environment.MAX_REQUESTS_IN_FLIGHT;
    const half = Math.ceil(total / 2);
    this.requestsInFlight = metrics.gauge('http_requests_in_flight', 'Requests in flight.', []);
    this.shed = metrics.counter('http_requests_shed_total', 'Requests rejected because of overload.', [
      'reason',
    ]);
    const onChange = (used: number): void => this.requestsInFlight.set({}, used);
    this.inFlight = new ByteBudget({ total, share: half, onChange });
    const limiter = (): FairLimiter =>
      new FairLimiter({
        concurrency: half,
        share: Math.min(half, UNVERIFIED_PER_ADDRESS),
        maxWaiting: half,
        maxWaitMs: UNVERIFIED_WAIT_MS,
      });
    this.unknown = new Map([
      [ANONYMOUS, limiter()],
      [UNVERIFIED, limiter()],
    ]);
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
   * Middleware, before all others. Starts a request at once, or in its caller's turn when many requests arrive, so that a
   * flood delays only its sender. Only a few requests start in one turn of the event loop, so that the loop is never late.
   */
  queue(request: IncomingMessage, response: ServerResponse, next: Next): void {
    this.endOfTurn ??= setImmediate(() => this.beginTurn());
    if (this.started < STARTS_PER_TURN && this.waiting.size === 0) {
      this.started++;
      return next();
    }
    const begin = (): void => {
      if (!response.destroyed) next();
    };
    (request as ServiceRequest).receivedAt = performance.now();
    // keeps the context of this request, because another request's context is active when it starts
    this.waiting.push(this.turnOf(request), AsyncResource.bind(begin));
  }

  private beginTurn(): void {
    this.endOfTurn = undefined;
    for (this.started = 0; this.started < STARTS_PER_TURN && this.waiting.size > 0; this.started++) {
      this.waiting.shift()!();
    }
    if (this.waiting.size > 0) this.endOfTurn ??= setImmediate(() => this.beginTurn());
  }

  /** Returns the owner whose turn a request waits for: its organization, or else its address. */
  private turnOf(request: IncomingMessage): OwnerPath {
    if (EXEMPT.test(pathOf(request))) return ['health', this.addresses.of(request)];
    const owner = this.ownerOf(request);
    return owner === ANONYMOUS || owner === UNVERIFIED ? [owner, this.addresses.of(request)] : [owner];
  }

  /** Middleware. Passes a 503 on to the error handler, or counts the request until its response is closed. */
  admit(request: IncomingMessage, response: ServerResponse, next: Next): void {
    const path = pathOf(request);
    if (EXEMPT.test(path)) return next();
    const owner = PUBLIC.test(path) ? ANONYMOUS : this.ownerOf(request);
    const limiter = this.unknown.get(owner);
    if (!limiter) return this.begin(owner, request, response, next);
    const { signal } = endingOf(request as ServiceRequest, response);
    limiter
      .run(
        this.addresses.of(request),
        signal,
        () => new Promise<void>((resolve) => this.begin(owner, request, response, next, resolve)),
      )
      .catch(() => {
        if (!signal.aborted) this.refuse('in_flight', next);
      });
  }

  /** @param onLeave called when the request has ended, or counts for its organization */
  private begin(
    owner: string,
    request: IncomingMessage,
    response: ServerResponse,
    next: Next,
    onLeave?: () => void,
  ): void {
    const acquired = this.inFlight.tryAcquire(owner, 1);
    if (!acquired) {
      this.refuse('in_flight', next);
      return onLeave?.();
    }
    let lease: ByteLease = acquired;
    const serviceRequest = request as ServiceRequest;
    onEnd(serviceRequest, response, () => {
      lease.release();
      onLeave?.();
    });
    if (this.isLate && this.inFlight.usedBy(owner) > ALWAYS_ADMITTED) {
      return this.refuse('event_loop', next);
    }
    serviceRequest.verified = (verified) => {
      // a closed response has already released its lease
      const newLease =
        response.closed || response.destroyed ? undefined : this.inFlight.tryAcquire(verified, 1);
      if (!newLease) return;
      lease.release();
      lease = newLease;
      onLeave?.();
    };
    next();
  }

  private refuse(reason: 'in_flight' | 'event_loop', next: Next): void {
    this.shed.inc({ reason });
    next(problem.overloaded('The service is handling too many requests. Try again shortly.'));
  }

  private get isLate(): boolean {
    return this.delayMs > this.environment.EVENT_LOOP_DELAY_LIMIT_MS;
  }

  private ownerOf({ headers }: IncomingMessage): string {
    const { authorization } = headers;
    if (authorization === undefined) return ANONYMOUS;
    const credential = BEARER.exec(authorization)?.[1];
    const principal = credential === undefined ? undefined : this.authenticator.getCached(credential);
    if (!principal) return UNVERIFIED;
    return principal.orgId ?? PLATFORM_OWNER;
  }

  private sample(): void {
    const { mean } = this.delays;
    this.delayMs = Number.isFinite(mean) ? mean / 1e6 - RESOLUTION_MS : 0;
    this.delays.reset();
  }
}
