import { Injectable } from '@nestjs/common';
import { Database, type Sql, sql } from '#platform/db';

/** A request with an idempotency key. */
export interface IdempotencyClaim {
  /** Identifies a repeat: SHA-256 of principal, workspace, operation, object and key. */
  requestId: Buffer;
  /** SHA-256 of the body. */
  digest: Buffer;
  /** The organization of the caller; null for platform principals. */
  orgId: string | null;
  /** UUID of the request that holds the claim. */
  holder: string;
}

/** The first response to a request, stored for replays. */
export interface StoredResponse {
  status: number;
  headers: Record<string, string>;
  body: Buffer;
  /** The workspace of the resource in the body; null if the resource has no workspace. */
  workspaceId: string | null;
  /** The organization whose data it is; null if it has none. */
  orgId: string | null;
}

export type ClaimOutcome =
  | { kind: 'claimed' }
  | { kind: 'busy' }
  | { kind: 'other_body' }
  | { kind: 'erased' }
  | { kind: 'stored'; stored: Omit<StoredResponse, 'orgId'> };

interface StoredRow {
  digest: Buffer;
  status: number | null;
  headers: Record<string, string> | null;
  body: Buffer | null;
  workspace_id: string | null;
}

const isHeld = ({ requestId, holder }: IdempotencyClaim): Sql =>
  sql`request_id = ${requestId} AND holder = ${holder} AND status IS NULL`;

/** Lease of a claim whose holder has died. */
const LOCK_SECONDS = 30;

/**
 * Stores first responses for 24 hours. A holder must renew its claim. Once it has lost the claim, it can neither store a
 * response nor release the key.
 */
@Injectable()
export class IdempotencyRepository {
  /** How often a holder must renew its claim, in milliseconds. */
  readonly renewalMs = (LOCK_SECONDS * 1000) / 3;

  constructor(private readonly database: Database) {}

  /** Claims the key for one request, or returns the reason why it cannot be claimed. */
  async claim({ requestId, digest, orgId, holder }: IdempotencyClaim): Promise<ClaimOutcome> {
    const claimed = await this.database.query(
      sql`INSERT INTO idempotency_keys AS existing (request_id, digest, org_id, holder, locked_until, expires_at)
       VALUES (${requestId}, ${digest}, ${orgId}, ${holder}, now() + ${LOCK_SECONDS} * interval '1 second', now() + interval '24 hours')
       ON CONFLICT (request_id) DO UPDATE
         SET digest = excluded.digest, holder = excluded.holder, locked_until = excluded.locked_until,
             expires_at = excluded.expires_at, status = NULL, headers = NULL, body = NULL, workspace_id = NULL
         WHERE existing.expires_at < now()
           OR (existing.status IS NULL AND existing.locked_until < now() AND existing.digest = excluded.digest)
       RETURNING 1`,
    );
    if (claimed.length > 0) return { kind: 'claimed' };
    const [row] = await this.database.query<StoredRow>(
      sql`SELECT digest, status, headers, body, workspace_id FROM idempotency_keys WHERE request_id = ${requestId}`,
    );
    if (!row) return { kind: 'busy' };
    if (!row.digest.equals(digest)) return { kind: 'other_body' };
    if (row.status === null) return { kind: 'busy' };
    if (row.body === null) return { kind: 'erased' };
    return {
      kind: 'stored',
      stored: {
        status: row.status,
        headers: row.headers ?? {},
        body: row.body,
        workspaceId: row.workspace_id,
      },
    };
  }

  /** Extends the lease of a claim. */
  async renew(claim: IdempotencyClaim): Promise<void> {
    await this.database.query(
      sql`UPDATE idempotency_keys SET locked_until = now() + ${LOCK_SECONDS} * interval '1 second' WHERE ${isHeld(claim)}`,
    );
  }

  /** Stores a response, and the digest of a body that had not arrived when the key was claimed. */
  async store(claim: IdempotencyClaim, response: StoredResponse): Promise<void> {
    await this.database.query(
      sql`UPDATE idempotency_keys
        SET digest = ${claim.digest}, status = ${response.status}, headers = ${JSON.stringify(response.headers)},
          body = ${response.body}, workspace_id = ${response.workspaceId}, org_id = ${response.orgId}
        WHERE ${isHeld(claim)}`,
    );
  }

  /** Releases the key, because only 2xx responses are stored. */
  async release(claim: IdempotencyClaim): Promise<void> {
    await this.database.query(sql`DELETE FROM idempotency_keys WHERE ${isHeld(claim)}`);
  }

  /** Deletes expired responses. The worker calls it periodically. */
  async deleteExpired(): Promise<void> {
    await this.database.query('DELETE FROM idempotency_keys WHERE expires_at < now()');
  }
}
