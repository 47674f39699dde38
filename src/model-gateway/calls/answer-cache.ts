import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { rootLogger } from '#platform/logging';
import { AnswerCacheRepository } from './answer-cache.repository';
import type { Call } from './call.types';

/** Maximum size of a cached answer, in bytes. */
const CACHED_MAX = 1024 * 1024;

/** The name of this cache in `Cache-Status` (RFC 9211). */
const CACHE_NAME = 'model-gateway';

/** The result of looking up a call in the cache. */
export interface CacheLookup {
  /** The cached answer, or null. */
  body: Buffer | null;
  /** The value of `Cache-Status`. Undefined for a model whose answers are not cached. */
  status: string | undefined;
  /** Caches the answer to the call. */
  store: (body: Uint8Array) => Promise<void>;
}

const storeNothing = (): Promise<void> => Promise.resolve();

/**
 * Caches answers of models with `cache_ttl_seconds`. A call gets a cached answer if its bytes, headers and format and the
 * version of the model are the same. Streams are not cached. All callers of a model share its cached answers.
 */
@Injectable()
export class AnswerCache {
  constructor(private readonly answers: AnswerCacheRepository) {}

  async lookUp({ model, format, headers, body, facts }: Call): Promise<CacheLookup> {
    const { cache_ttl_seconds: seconds, model_id: id } = model;
    if (seconds === null) return { body: null, status: undefined, store: storeNothing };
    if (facts.isStream) return { body: null, status: `${CACHE_NAME}; fwd=bypass`, store: storeNothing };
    const key = createHash('sha256')
      .update(JSON.stringify([model.generation, format, headers]))
      .update(body)
      .digest();
    const cached = await this.answers.find(id, key);
    if (cached)
      return { body: cached.body, status: `${CACHE_NAME}; hit; ttl=${cached.seconds}`, store: storeNothing };
    return {
      body: null,
      status: `${CACHE_NAME}; fwd=miss`,
      store: async (answer) => {
        if (answer.length > CACHED_MAX) return;
        // a failure to cache the answer must not fail the call
        await this.answers
          .store(id, key, answer, seconds)
          .catch((err: unknown) => rootLogger.warn({ err }, 'a model answer could not be cached'));
      },
    };
  }
}
