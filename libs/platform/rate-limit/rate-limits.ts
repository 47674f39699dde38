import { Injectable, SetMetadata } from '@nestjs/common';
import type { ServerResponse } from 'node:http';
import { LRUCache } from 'lru-cache';
import { type RateLimiterAbstract, RateLimiterRes } from 'rate-limiter-flexible';
import { Environment } from '#platform/config';
import { type Counter, Metrics } from '#platform/metrics';
import { problem } from '#platform/problem';
import type { Principal } from '#platform/scope';
import { LimiterStore, MemoryStore, WINDOW_SECONDS } from './limiter-stores';

/** The classes of requests that are counted for each organization and principal. */
export type RateLimitClass = 'reads' | 'writes' | 'telemetry' | 'proxy' | 'store_listing';

/** Key of the metadata of `RateLimited`. */
export const RATE_LIMIT_CLASS = 'rate-limit:class';

/**
 * Counts the requests of a route, or of all routes of a controller, in this class. Other routes that require a caller
 * count as `reads` or `writes`.
 */
export const RateLimited = (name: RateLimitClass) => SetMetadata(RATE_LIMIT_CLASS, name);

/** The names of the rate limits: the classes by principal, and two limits by address. */
export type RateLimitName = RateLimitClass | 'unauthorized' | 'documents';

interface Quota {
  perMinute: number | undefined;
  /** The counted requests, in the plural. */
  counted: string;
  /** What a client at the limit can still do. */
  hint?: string;
  /** Counted in each process, because the requests cost less than a shared counter. */
  isLocal?: boolean;
}

const quotasOf = (environment: Environment): Record<RateLimitName, Quota> => ({
  reads: { perMinute: environment.RATE_LIMIT_READS, counted: 'reads' },
  writes: { perMinute: environment.RATE_LIMIT_WRITES, counted: 'writes' },
  telemetry: { perMinute: environment.RATE_LIMIT_TELEMETRY, counted: 'telemetry exports' },
  proxy: {
    perMinute: environment.RATE_LIMIT_PROXY,
    counted: 'requests to the API proxy, the model gateway and the MCP endpoint',
  },
  store_listing: {
    perMinute: environment.RATE_LIMIT_STORE_LISTING,
    counted: 'requests for the store listing',
  },
  unauthorized: {
    perMinute: environment.RATE_LIMIT_UNAUTHORIZED,
    counted: 'requests without a valid credential from one address',
    hint: ' A valid credential is accepted at any time.',
  },
  documents: {
    perMinute: environment.RATE_LIMIT_DOCUMENTS,
    counted: 'requests for public documents from one address',
    isLocal: true,
  },
});

interface Limit extends Quota {
  perMinute: number;
  limiter: RateLimiterAbstract;
}

/** A limit that a tenant has set for one of its own resources. */
export interface OwnLimit {
  /** The kind of the limit, such as `api`. Keys of different kinds are counted separately. */
  name: string;
  /** Identifies whose requests are counted. */
  key: string;
  perMinute: number;
}

/** Maximum number of limiters for limits of tenants that a process keeps. */
const OWN_LIMITERS = 1_000;

/** The rate limits of this process: fixed windows of a minute, which start with the first request of a key. */
@Injectable()
export class RateLimits {
  private readonly limits = new Map<RateLimitName, Limit>();
  private readonly rejections: Counter<'class'>;
  /** By name and limit, because a limiter has one limit for all of its keys. */
  private readonly own = new LRUCache<string, RateLimiterAbstract>({ max: OWN_LIMITERS });

  constructor(
    environment: Environment,
    private readonly store: LimiterStore,
    metrics: Metrics,
  ) {
    const local = new MemoryStore();
    for (const [name, quota] of Object.entries(quotasOf(environment)) as [RateLimitName, Quota][]) {
      const { perMinute, isLocal } = quota;
      if (perMinute === undefined) continue;
      const limiter = (isLocal ? local : store).createLimiter(name, perMinute);
      this.limits.set(name, { ...quota, perMinute, limiter });
    }
    this.rejections = metrics.counter('http_requests_rate_limited_total', 'Requests rejected with 429.', [
      'class',
    ]);
  }

  /** Whether this limit is off. */
  isOff(name: RateLimitName): boolean {
    return !this.limits.has(name);
  }

  /**
   * Counts a request, and sets the headers `RateLimit-Policy` and `RateLimit` of its response
   * (draft-ietf-httpapi-ratelimit-headers). Does nothing if the limit is off. Throws 429 beyond the limit.
   *
   * @param caller whose requests are counted: a principal, or the address of a client
   * @param requests the number of requests that this one counts as
   */
  async count(
    name: RateLimitName,
    caller: Principal | string,
    response: ServerResponse,
    requests = 1,
  ): Promise<void> {
    const limit = this.limits.get(name);
    if (!limit) return;
    const key = typeof caller === 'string' ? caller : `${caller.orgId ?? 'platform'}:${caller.id}`;
    const { isOverLimit, remaining, seconds } = await consume(limit.limiter, key, requests);
    response.setHeader('RateLimit-Policy', `"${name}";q=${limit.perMinute};w=${WINDOW_SECONDS}`);
    response.setHeader('RateLimit', `"${name}";r=${remaining};t=${seconds}`);
    if (!isOverLimit) return;
    this.rejections.inc({ class: name });
    const { perMinute, counted, hint = '' } = limit;
    throw problem.rateLimited(
      `You can send ${perMinute} ${counted} per minute. Try again in ${seconds} s.${hint}`,
      seconds,
    );
  }

  /**
   * Counts a request against a limit that a tenant has set.
   *
   * @param points the points that the request uses; 0 only checks the limit
   * @returns for a request beyond the limit, the seconds until its window ends; else null
   */
  async checkOwn({ name, key, perMinute }: OwnLimit, points = 1): Promise<number | null> {
    const limiter = this.ownLimiter(name, perMinute);
    if (points > 0) {
      const { isOverLimit, seconds } = await consume(limiter, key, points);
      return isOverLimit ? seconds : null;
    }
    const current = await limiter.get(key).catch(() => null);
    return current && current.remainingPoints <= 0 ? consumed(current, true).seconds : null;
  }

  private ownLimiter(name: string, perMinute: number): RateLimiterAbstract {
    const id = `${name} ${perMinute}`;
    let limiter = this.own.get(id);
    if (!limiter) this.own.set(id, (limiter = this.store.createLimiter(name, perMinute)));
    return limiter;
  }
}

interface Consumed {
  isOverLimit: boolean;
  remaining: number;
  /** Until the window ends. */
  seconds: number;
}

async function consume(limiter: RateLimiterAbstract, key: string, requests: number): Promise<Consumed> {
  try {
    return consumed(await limiter.consume(key, requests), false);
  } catch (error) {
    if (error instanceof RateLimiterRes) return consumed(error, true);
    throw error;
  }
}

const consumed = ({ remainingPoints, msBeforeNext }: RateLimiterRes, isOverLimit: boolean): Consumed => ({
  isOverLimit,
  remaining: remainingPoints,
  seconds: Math.max(1, Math.ceil(msBeforeNext / 1000)),
});
