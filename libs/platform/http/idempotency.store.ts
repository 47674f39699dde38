import { Injectable } from '@nestjs/common';
import { Database } from '#platform/db';

/** A request that may be repeated. */
export interface IdempotencyClaim {
  /** What makes another request the same: SHA-256 of principal, workspace, operation, object and key. */
  requestId: Buffer;
  /** SHA-256 of the body. */
  digest: Buffer;
  /** The one request that this claim is of, as a UUID. */
  holder: string;
}

export interface KeptAnswer {
  status: number;
  headers: Record<string, string>;
  body: Buffer;
}

export type ClaimOutcome =
  { kind: 'claimed' } | { kind: 'busy' } | { kind: 'other_body' } | { kind: 'answered'; answer: KeptAnswer };

interface KeptRow {
  digest: Buffer;
  status: number | null;
  headers: Record<string, string> | null;
  body: Buffer | null;
}

const HELD = 'request_id = $1 AND holder = $2 AND status IS NULL';

/** How long a key stays taken when its holder died without a word. */
const LOCK_SECONDS = 30;

/**
 * Keeps first answers for 24 hours. A key is taken for as long as its holder renews the claim, and a holder that lost
 * it can neither keep an answer nor give it back.
 */
@Injectable()
export class IdempotencyStore {
  /** How often a holder is to renew its claim. */
  readonly renewalMs = (LOCK_SECONDS * 1000) / 3;

  constructor(private readonly database: Database) {}

  /** Takes the key for one request, or tells why it cannot be had. */
  async claim({ requestId, digest, holder }: IdempotencyClaim): Promise<ClaimOutcome> {
    const claimed = await this.database.query(
      `INSERT INTO idempotency_keys AS kept (request_id, digest, holder, locked_until, expires_at)
       VALUES ($1, $2, $3, now() + $4 * interval '1 second', now() + interval '24 hours')
       ON CONFLICT (request_id) DO UPDATE
         SET digest = excluded.digest, holder = excluded.holder, locked_until = excluded.locked_until,
             expires_at = excluded.expires_at, status = NULL, headers = NULL, body = NULL
         WHERE kept.expires_at < now() OR (kept.status IS NULL AND kept.locked_until < now() AND kept.digest = excluded.digest)
       RETURNING 1`,
      [requestId, digest, holder, LOCK_SECONDS],
    );
    if (claimed.length > 0) return { kind: 'claimed' };
    const [row] = await this.database.query<KeptRow>(
      'SELECT digest, status, headers, body FROM idempotency_keys WHERE request_id = $1',
      [requestId],
    );
    if (!row) return { kind: 'busy' };
    if (!row.digest.equals(digest)) return { kind: 'other_body' };
    if (row.status === null) return { kind: 'busy' };
    return {
      kind: 'answered',
      answer: { status: row.status, headers: row.headers ?? {}, body: row.body ?? Buffer.alloc(0) },
    };
  }

  /** Says that the holder is still at it. */
  async renew({ requestId, holder }: IdempotencyClaim): Promise<void> {
    await this.database.query(
      `UPDATE idempotency_keys SET locked_until = now() + $3 * interval '1 second' WHERE ${HELD}`,
      [requestId, holder, LOCK_SECONDS],
    );
  }

  async keep({ requestId, holder }: IdempotencyClaim, answer: KeptAnswer): Promise<void> {
    await this.database.query(
      `UPDATE idempotency_keys SET status = $3, headers = $4, body = $5 WHERE ${HELD}`,
      [requestId, holder, answer.status, JSON.stringify(answer.headers), answer.body],
    );
  }

  /** Gives the key back: only 2xx answers are kept. */
  async release({ requestId, holder }: IdempotencyClaim): Promise<void> {
    await this.database.query(`DELETE FROM idempotency_keys WHERE ${HELD}`, [requestId, holder]);
  }

  /** Removes what has expired; a housekeeping task of the worker. */
  async sweep(): Promise<void> {
    await this.database.query('DELETE FROM idempotency_keys WHERE expires_at < now()');
  }
}
