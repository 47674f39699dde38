import { Injectable } from '@nestjs/common';
import { Database } from '#platform/db';
import { toJsonText } from '#platform/json';
import type { ChatFeatures } from './chat-request';

const FIND = {
  name: 'judge-features.find',
  text: `SELECT features FROM judge_features WHERE model = $1 AND learned_at > now() - interval '1 day'`,
};

/** What models of the judge backend take. It is the operator's backend, the same for all workspaces, and tells nothing of any. */
@Injectable()
export class ChatFeaturesRepository {
  constructor(private readonly database: Database) {}

  async find(model: string): Promise<ChatFeatures | undefined> {
    const [row] = await this.database.query<{ features: ChatFeatures }>(FIND, [model]);
    return row?.features;
  }

  async save(model: string, features: ChatFeatures): Promise<void> {
    await this.database.query(
      `INSERT INTO judge_features (model, features) VALUES ($1, $2)
       ON CONFLICT (model) DO UPDATE SET features = excluded.features, learned_at = now()`,
      [model, toJsonText(features)],
    );
  }

  /** Deletes what is not gone by any more. */
  async prune(): Promise<void> {
    await this.database.query(`DELETE FROM judge_features WHERE learned_at < now() - interval '1 day'`);
  }
}
