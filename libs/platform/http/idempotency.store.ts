import { Injectable } from '@nestjs/common';
import { Database } from '#platform/db';

/** What identifies a request that may be repeated. */
export interface IdempotencyClaim {
  principalId: string;
  /** Workspace, method and path. */
  route: string;
  key: string;
  /** SHA-256 of the body. */
  digest: Buffer;
}

export interface KeptAnswer {
  status: number;
  headers: Record<string, string>;
  body: string;
}

export type ClaimOutcome =
  { kind: 'claimed' } | { kind: 'busy' } | { kind: 'other_body' } | { kind: 'answered'; answer: KeptAnswer };

interface KeptRow {
  digest: Buffer;
  status: number | null;
  headers: Record<string, string> | null;
  body: string | null;
}

/**
 * Keeps first answers for 24 hours. A claim whose process died is free again after twice the time a request may
 * take.
 */
@Injectable()
export class IdempotencyStore {
  constructor(private readonly database: Database) {}

  /** Takes the key for one request, or tells why it cannot be had. */
  async claim({ principalId, route, key, digest }: IdempotencyClaim, lockMs: number): Promise<ClaimOutcome> {
    const claimed = await this.database.query(
      `INSERT INTO idempotency_keys AS kept (principal_id, route, key, digest, locked_until, expires_at)
       VALUES ($1, $2, $3, $4, now() + $5 * interval '1 millisecond', now() + interval '24 hours')
       ON CONFLICT (principal_id, route, key) DO UPDATE
         SET digest = excluded.digest, locked_until = excluded.locked_until, expires_at = excluded.expires_at,
             status = NULL, headers = NULL, body = NULL
         WHERE kept.expires_at < now() OR (kept.status IS NULL AND kept.locked_until < now())
       RETURNING 1`,
      [principalId, route, key, digest, lockMs],
    );
    if (claimed.length > 0) return { kind: 'claimed' };
    const [row] = await this.database.query<KeptRow>(
      'SELECT digest, status, headers, body FROM idempotency_keys WHERE principal_id = $1 AND route = $2 AND key = $3',
      [principalId, route, key],
    );
    if (!row) return { kind: 'busy' };
    if (!row.digest.equals(digest)) return { kind: 'other_body' };
    if (row.status === null) return { kind: 'busy' };
    return {
      kind: 'answered',
      answer: { status: row.status, headers: row.headers ?? {}, body: row.body ?? '' },
    };
  }

  async keep({ principalId, route, key }: IdempotencyClaim, answer: KeptAnswer): Promise<void> {
    await this.database.query(
      'UPDATE idempotency_keys SET status = $4, headers = $5, body = $6 WHERE principal_id = $1 AND route = $2 AND key = $3',
      [principalId, route, key, answer.status, JSON.stringify(answer.headers), answer.body],
    );
  }

  /** Gives the key back: only 2xx answers are kept. */
  async release({ principalId, route, key }: IdempotencyClaim): Promise<void> {
    await this.database.query(
      'DELETE FROM idempotency_keys WHERE principal_id = $1 AND route = $2 AND key = $3 AND status IS NULL',
      [principalId, route, key],
    );
  }

  /** Removes what has expired; a housekeeping task of the worker. */
  async sweep(): Promise<void> {
    await this.database.query('DELETE FROM idempotency_keys WHERE expires_at < now()');
  }
}
