import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { Database, DELETE_BATCH, deleteInBatches, prepared, sql, type Tx } from '#platform/db';
import { rootLogger } from '#platform/logging';
import type { Call } from './call.types';

/** Maximum size of a cached answer, in bytes. */
const CACHED_MAX = 1024 * 1024;
/** The name of this cache in `Cache-Status` (RFC 9211). */
const CACHE_NAME = 'model-gateway';

/** The result of looking up a call in the cache. */
export interface CacheLookup {
  /** The cached answer, or null. */
  body: Buffer | null;
  /** The value of `Cache-Status`. */
  status: string;
  /** Caches the answer to the call. */
  store: (body: Buffer) => Promise<void>;
}

/**
 * Caches answers of models with `cache_ttl_seconds`. A call gets a cached answer if its bytes, headers and format and the
 * version of the model are the same. Streams are not cached. All callers of a model share its cached answers.
 */
@Injectable()
export class AnswerCacheRepository {
  constructor(private readonly database: Database) {}

  /** Returns undefined for a model whose answers are not cached. */
  async lookUp({ model, format, headers, body }: Call): Promise<CacheLookup | undefined> {
    const { cache_ttl_seconds: seconds, model_id: id } = model;
    if (seconds === null) return undefined;
    const key = createHash('sha256')
      .update(JSON.stringify([model.generation, format, headers]))
      .update(body)
      .digest();
    const cached = await this.find(id, key);
    return {
      body: cached?.body ?? null,
      status: `${CACHE_NAME}; ${cached ? `hit; ttl=${cached.seconds}` : 'fwd=miss'}`,
      store: async (answer) => {
        if (answer.length > CACHED_MAX) return;
        // a failure to cache the answer must not fail the call
        await this.store(id, key, answer, seconds).catch((err: unknown) =>
          rootLogger.warn({ err }, 'a model answer could not be cached'),
        );
      },
    };
  }

  /** Returns the `Cache-Status` of a stream. Undefined for a model whose answers are not cached. */
  bypassStatus({ model }: Call): string | undefined {
    return model.cache_ttl_seconds === null ? undefined : `${CACHE_NAME}; fwd=bypass`;
  }

  /** Returns a cached answer and its remaining lifetime in seconds. */
  async find(modelId: string, requestSha256: Buffer): Promise<{ body: Buffer; seconds: number } | null> {
    const statement = sql`SELECT body, ceil(extract(epoch FROM expires_at - now()))::int AS seconds FROM model_answers
      WHERE model_id = ${modelId} AND request_sha256 = ${requestSha256} AND expires_at > now()`;
    const [row] = await this.database.query<{ body: Buffer; seconds: number }>(
      prepared('model-answer.find', statement),
    );
    return row ?? null;
  }

  /** Deletes cached answers of a workspace's models, and returns how many. */
  async deleteIn(tx: Tx, workspaceId: string, limit: number): Promise<number> {
    const deleted = await tx.query(
      sql`DELETE FROM model_answers WHERE (model_id, request_sha256) IN (
          SELECT model_id, request_sha256 FROM models JOIN model_answers USING (model_id)
          WHERE workspace_id = ${workspaceId} LIMIT ${limit}) RETURNING 1`,
    );
    return deleted.length;
  }

  /** Counts the cached answers of a workspace's models. */
  async countIn(tx: Tx, workspaceId: string): Promise<number> {
    const [row] = await tx.query<{ count: number }>(
      sql`SELECT count(*) AS count FROM models JOIN model_answers USING (model_id) WHERE workspace_id = ${workspaceId}`,
    );
    return row!.count;
  }

  /** Deletes the expired answers. */
  deleteExpired(): Promise<void> {
    return deleteInBatches(
      this.database,
      sql`WITH expired AS (
          SELECT model_id, request_sha256 FROM model_answers WHERE expires_at <= now() ORDER BY expires_at
          LIMIT ${DELETE_BATCH}
        ), deleted AS (
          DELETE FROM model_answers WHERE (model_id, request_sha256) IN (SELECT * FROM expired) RETURNING 1
        ) SELECT count(*)::integer AS deleted FROM deleted`,
    );
  }

  private async store(modelId: string, requestSha256: Buffer, body: Buffer, seconds: number): Promise<void> {
    await this.database.query(
      sql`INSERT INTO model_answers (model_id, request_sha256, body, created_at, expires_at)
        VALUES (${modelId}, ${requestSha256}, ${body}, now(), now() + ${seconds} * interval '1 second')
        ON CONFLICT (model_id, request_sha256) DO UPDATE
          SET body = excluded.body, created_at = excluded.created_at, expires_at = excluded.expires_at`,
    );
  }
}
