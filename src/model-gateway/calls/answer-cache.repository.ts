import { Injectable } from '@nestjs/common';
import { Database, prepared, sql } from '#platform/db';

/** Stores cached answers of models. */
@Injectable()
export class AnswerCacheRepository {
  constructor(private readonly database: Database) {}

  /** Returns a cached answer and its remaining lifetime in seconds. */
  async find(modelId: string, requestSha256: Buffer): Promise<{ body: Buffer; seconds: number } | null> {
    const statement = sql`SELECT body, ceil(extract(epoch FROM expires_at - now()))::int AS seconds FROM model_answers
      WHERE model_id = ${modelId} AND request_sha256 = ${requestSha256} AND expires_at > now()`;
    const [row] = await this.database.query<{ body: Buffer; seconds: number }>(
      prepared('model-answer.find', statement),
    );
    return row ?? null;
  }

  async store(modelId: string, requestSha256: Buffer, body: Uint8Array, seconds: number): Promise<void> {
    await this.database.query(
      sql`INSERT INTO model_answers (model_id, request_sha256, body, created_at, expires_at)
        VALUES (${modelId}, ${requestSha256}, ${Buffer.from(body)}, now(), now() + ${seconds} * interval '1 second')
        ON CONFLICT (model_id, request_sha256) DO UPDATE
          SET body = excluded.body, created_at = excluded.created_at, expires_at = excluded.expires_at`,
    );
  }

  /** Deletes one batch of expired answers. @returns whether there may be more */
  async deleteExpired(batch: number): Promise<boolean> {
    const deleted = await this.database.query(
      sql`DELETE FROM model_answers WHERE (model_id, request_sha256) IN (
          SELECT model_id, request_sha256 FROM model_answers WHERE expires_at <= now() ORDER BY expires_at LIMIT ${batch}
        ) RETURNING 1 AS deleted`,
    );
    return deleted.length === batch;
  }
}
