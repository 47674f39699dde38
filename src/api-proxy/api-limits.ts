import { Injectable } from '@nestjs/common';
import { problem } from '#platform/problem';
import { RateLimits } from '#platform/rate-limit';
import type { ApiTarget } from '../registry';

/** Enforces the limits of registered APIs, across all of their callers. */
@Injectable()
export class ApiLimits {
  /** Requests in flight in this process, by the id of an API that limits them. */
  private readonly inFlight = new Map<string, number>();

  constructor(private readonly rates: RateLimits) {}

  /** Counts a request against the rate limit of its API. Errors: 429 with `Retry-After`. */
  async count({ api_id: key }: ApiTarget, perMinute: number): Promise<void> {
    const seconds = await this.rates.checkOwn({ name: 'api', key, perMinute });
    if (seconds === null) return;
    throw problem.rateLimited(
      `This API accepts at most ${perMinute} requests per minute from all callers together. Try again in ${seconds} s.`,
      seconds,
    );
  }

  /** Counts a request as in flight, and returns a function that ends the count. Errors: 429 with `Retry-After`. */
  enter({ api_id: id, max_in_flight: max }: ApiTarget): () => void {
    if (max === null) return noop;
    const running = this.inFlight.get(id) ?? 0;
    if (running >= max) {
      throw problem.rateLimited(
        `This API accepts at most ${max} concurrent requests. Try again when one has ended.`,
        1,
      );
    }
    this.inFlight.set(id, running + 1);
    return () => {
      const left = this.inFlight.get(id)! - 1;
      if (left > 0) this.inFlight.set(id, left);
      else this.inFlight.delete(id);
    };
  }
}

const noop = (): void => undefined;
