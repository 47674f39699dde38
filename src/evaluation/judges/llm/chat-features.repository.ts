import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { Database, prepared, sql } from '#platform/db';
import { toJsonText } from '#platform/json';
import { rootLogger } from '#platform/logging';
import { ALL_FEATURES, type ChatFeatures } from './chat-request';

/** How long a process uses what it read, in ms, and for how many models it remembers it. */
const REMEMBERED_MS = 5_000;
const MODELS_MAX = 1_000;

/**
 * The features that each model supports, learned from its refusals. All processes share them, so that a preview shows
 * what would be sent. They are forgotten after a day, because servers gain features. They are the operator's models, and
 * tell nothing of any workspace.
 */
@Injectable()
export class ChatFeaturesRepository {
  private readonly known = new LRUCache<string, ChatFeatures>({ max: MODELS_MAX, ttl: REMEMBERED_MS });

  constructor(private readonly database: Database) {}

  async of(model: string): Promise<ChatFeatures> {
    const known = this.known.get(model);
    if (known) return known;
    const [row] = await this.database.query<{ features: ChatFeatures }>(
      prepared(
        'judge-features.find',
        sql`SELECT features FROM judge_features WHERE model = ${model} AND learned_at > now() - interval '1 day'`,
      ),
    );
    const features = row?.features ?? ALL_FEATURES;
    this.known.set(model, features);
    return features;
  }

  /** Stores the features of a request that a model has just answered. A failure only costs another refusal. */
  async learn(model: string, features: ChatFeatures): Promise<void> {
    this.known.set(model, features);
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
