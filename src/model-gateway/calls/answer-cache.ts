import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { rootLogger } from '#platform/logging';
import { AnswerCacheRepository } from './answer-cache.repository';
import type { Call } from './call.types';

/** Larger answers are not kept, in bytes. */
const KEPT_MAX = 1024 * 1024;

/** This service in `Cache-Status` (RFC 9211). */
const CACHE_NAME = 'model-gateway';

/** What the cache did for a call. */
export interface CacheLookup {
  /** The kept answer, or null. */
  body: Buffer | null;
  /** The value of `Cache-Status`; undefined for a model whose answers are not kept. */
  status: string | undefined;
  /** Keeps the answer of the call. */
  keep: (body: Uint8Array) => Promise<void>;
}

const NOT_KEPT = (): Promise<void> => Promise.resolve();

/**
 * Gives the answer of an earlier call again, for models that keep theirs. Only for the same bytes and headers in the same
 * format, for the same version of the model, and not for streams. Every caller of the model gets it.
 */
@Injectable()
export class AnswerCache {
  constructor(private readonly answers: AnswerCacheRepository) {}

  async look({ model, format, headers, body, facts }: Call): Promise<CacheLookup> {
    const { cache_ttl_seconds: seconds, model_id: id } = model;
    if (seconds === null) return { body: null, status: undefined, keep: NOT_KEPT };
    if (facts.isStream) return { body: null, status: `${CACHE_NAME}; fwd=bypass`, keep: NOT_KEPT };
    const key = createHash('sha256')
      .update(JSON.stringify([model.generation, format, headers]))
      .update(body)
      .digest();
    const kept = await this.answers.find(id, key);
    if (kept) return { body: kept.body, status: `${CACHE_NAME}; hit; ttl=${kept.seconds}`, keep: NOT_KEPT };
    return {
      body: null,
      status: `${CACHE_NAME}; fwd=miss`,
      keep: async (answer) => {
        if (answer.length > KEPT_MAX) return;
        // the answer is there, whether or not it can be kept
        await this.answers
          .keep(id, key, answer, seconds)
          .catch((err: unknown) => rootLogger.warn({ err }, 'an answer of a model could not be kept'));
      },
    };
  }
}
