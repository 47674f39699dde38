import { Injectable } from '@nestjs/common';
import { problem } from '#platform/problem';
import { RateLimits } from '#platform/rate-limit';
import { KeyDirectory, type KeyLimits } from '../keys/key-directory';
import type { Caller, Recorded } from './call.types';

/** Enforces the limits per minute of gateway keys. */
@Injectable()
export class CallLimits {
  constructor(
    private readonly keys: KeyDirectory,
    private readonly rates: RateLimits,
  ) {}

  /** Returns the limits of a caller that is a gateway key, or null. */
  async limitsOf({ serviceAccountId }: Caller): Promise<KeyLimits | null> {
    if (serviceAccountId === null) return null;
    const cached = this.keys.getCached(serviceAccountId);
    return cached === undefined ? this.keys.find(serviceAccountId) : cached;
  }

  /** Counts a request of a key. Errors: 429 if the requests or tokens of this minute are used up. */
  async admit({ service_account_id: key, requests_per_minute, tokens_per_minute }: KeyLimits): Promise<void> {
    if (tokens_per_minute !== null) {
      const seconds = await this.rates.checkOwn({ name: TOKENS, key, perMinute: tokens_per_minute }, 0);
      if (seconds !== null) throw keyLimitExceeded(`${tokens_per_minute} tokens`, seconds);
    }
    if (requests_per_minute !== null) {
      const seconds = await this.rates.checkOwn({ name: REQUESTS, key, perMinute: requests_per_minute });
      if (seconds !== null) throw keyLimitExceeded(`${requests_per_minute} requests`, seconds);
    }
  }

  /** Counts the tokens of a call that has ended. Concurrent calls can therefore exceed the limit. */
  async count({ service_account_id: key, tokens_per_minute }: KeyLimits, { usage }: Recorded): Promise<void> {
    const tokens = (usage.inputTokens ?? 0) + (usage.outputTokens ?? 0);
    if (tokens_per_minute === null || tokens === 0) return;
    await this.rates.checkOwn({ name: TOKENS, key, perMinute: tokens_per_minute }, tokens);
  }
}

const REQUESTS = 'gateway_requests';
const TOKENS = 'gateway_tokens';

const keyLimitExceeded = (amount: string, seconds: number) =>
  problem.rateLimited(`This key may use ${amount} per minute. Try again in ${seconds} s.`, seconds);
