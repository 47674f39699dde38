import { Injectable } from '@nestjs/common';
import { problem } from '#platform/problem';
import { RateLimits } from '#platform/rate-limit';
import type { ApiTarget } from '../registry';

/** Enforces the limits of registered APIs, over all of their callers. */
@Injectable()
export class ApiLimits {
  /** Requests in flight in this process, by API. */
  private readonly inFlight = new Map<string, number>();

  constructor(private readonly rates: RateLimits) {}

  /** Runs a request within the limits of its API. Errors: 429 with `Retry-After`. */
  async run(api: ApiTarget, work: () => Promise<void>): Promise<void> {
    const { api_id: id, requests_per_minute: perMinute, max_in_flight: max } = api;
    if (perMinute !== null) {
      const seconds = await this.rates.checkOwn({ name: 'api', key: id, perMinute });
      if (seconds !== null) {
        throw problem.rateLimited(
          `This API takes ${perMinute} requests per minute from all callers together. Try again in ${seconds} s.`,
          seconds,
        );
      }
    }
    const running = this.inFlight.get(id) ?? 0;
    if (max !== null && running >= max) {
      throw problem.rateLimited(`This API takes ${max} requests at once. Try again when one has ended.`, 1);
    }
    this.inFlight.set(id, running + 1);
    try {
      await work();
    } finally {
      const left = this.inFlight.get(id)! - 1;
      if (left > 0) this.inFlight.set(id, left);
      else this.inFlight.delete(id);
    }
  }
}
