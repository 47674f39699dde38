import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { Database, prepared, sql } from '#platform/db';
import { toJsonText } from '#platform/json';
import { rootLogger } from '#platform/logging';
import { ALL_FEATURES, type ChatFeatures } from './chat-request';

/** How long a process uses the features that it last read, in ms. */
const CACHE_MS = 5_000;
/** Models whose features a process keeps in memory. */
const MODELS_MAX = 1_000;

/**
 * The features that each model supports, learned from its refusals. All processes share them, so that a preview shows
 * what would be sent. They expire after a day, because servers gain features. They depend on the operator's models alone,
 * so all workspaces share them.
 */
@Injectable()
export class ChatFeaturesRepository {
  private readonly cache = new LRUCache<string, ChatFeatures>({ max: MODELS_MAX, ttl: CACHE_MS });

  constructor(private readonly database: Database) {}

  async of(model: string): Promise<ChatFeatures> {
    const cached = this.cache.get(model);
    if (cached) return cached;
    const [row] = await this.database.query<{ features: ChatFeatures }>(
      prepared(
        'judge-features.find',
        sql`SELECT features FROM judge_features WHERE model = ${model} AND learned_at > now() - interval '1 day'`,
      ),
    );
    const features = row?.features ?? ALL_FEATURES;
    this.cache.set(model, features);
    return features;
  }

  /** Stores the features of a request that a model has answered. If that fails, the model refuses the next request again. */
  async learn(model: string, features: ChatFeatures): Promise<void> {
    this.cache.set(model, features);
    try {
      await this.database.query(
        sql`INSERT INTO judge_features (model, features) VALUES (${model}, ${toJsonText(features)})
          ON CONFLICT (model) DO UPDATE SET features = excluded.features, learned_at = now()`,
      );
    } catch (error) {
      rootLogger.warn({ err: error, model }, 'the features of a judge could not be stored');
    }
  }

  /** Deletes features that are too old to be used. */
  async deleteOld(): Promise<void> {
    await this.database.query(sql`DELETE FROM judge_features WHERE learned_at < now() - interval '1 day'`);
  }
}
