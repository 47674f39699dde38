import { Injectable } from '@nestjs/common';
import { Batcher, FairLimiter, PLATFORM_OWNER, SMALL_WRITES } from '#platform/concurrency';
import { type BulkColumn, BulkColumns, Database, prepared, sql, type SqlExecutor } from '#platform/db';

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

/** A response to store in place of the claim. */
export type ClaimedResponse = IdempotencyClaim & StoredResponse;

export type ClaimOutcome =
  | { kind: 'claimed' }
  /** Another request holds the claim. */
  | { kind: 'busy'; digest: Buffer | null }
  /** `stored` is null once the response is erased. */
  | { kind: 'stored'; digest: Buffer; stored: Omit<StoredResponse, 'orgId'> | null };

interface ClaimRow {
  holder: string;
  is_claimed: boolean;
  digest: Buffer | null;
  status: number | null;
  headers: Record<string, string> | null;
  body: Buffer | null;
  workspace_id: string | null;
}

const CLAIM_COLUMNS: BulkColumn<IdempotencyClaim>[] = [
  { name: 'request_id', type: 'bytea', value: ({ requestId }) => requestId },
  { name: 'digest', type: 'bytea', value: ({ digest }) => digest },
  { name: 'holder', type: 'uuid', value: ({ holder }) => holder.replaceAll('-', '') },
];
const CLAIM = new BulkColumns(CLAIM_COLUMNS);

const RESPONSE = new BulkColumns<ClaimedResponse>([
  ...CLAIM_COLUMNS,
  { name: 'org_id', type: 'text', value: ({ orgId }) => orgId },
  { name: 'status', type: 'int4', value: ({ status }) => status },
  { name: 'headers', type: 'json', value: ({ headers }) => JSON.stringify(headers) },
  { name: 'body', type: 'bytea', value: ({ body }) => body },
  { name: 'workspace_id', type: 'text', value: ({ workspaceId }) => workspaceId },
]);

function outcomeOf({ is_claimed, digest, status, headers, body, workspace_id }: ClaimRow): ClaimOutcome {
  if (is_claimed) return { kind: 'claimed' };
  if (digest === null || status === null) return { kind: 'busy', digest };
  const stored = body && { status, headers: headers ?? {}, body, workspaceId: workspace_id };
  return { kind: 'stored', digest, stored };
}

/** The order in which claims are locked. */
const byId = (one: IdempotencyClaim, other: IdempotencyClaim): number =>
  Buffer.compare(one.requestId, other.requestId);

/** Seconds after which others may process a request whose process has died. */
const LEASE_SECONDS = 10;

/**
 * Stores first responses for 24 hours. A claim only avoids that a repeat does the same work at the same time. What makes a
 * request take effect once is `store`, in the transaction of the work: of two requests with one key, only one can store.
 */
@Injectable()
export class IdempotencyRepository {
  /** How often a holder must renew its claim, in milliseconds. */
  readonly renewalMs = (LEASE_SECONDS * 1000) / 3;

  /** The cost of a claim is its round trip, so those of concurrent requests share one. */
  private readonly claims = new Batcher<IdempotencyClaim, ClaimOutcome>({
    run: (claims) => this.claimAll(claims),
    max: SMALL_WRITES.max,
    shared: { limiter: new FairLimiter({ concurrency: 1 }), owner: 'idempotency' },
  });

  constructor(private readonly database: Database) {}

  /** Claims the key for one request, or returns the reason why it cannot be claimed. */
  claim(claim: IdempotencyClaim): Promise<ClaimOutcome> {
    return this.claims.add([claim.orgId ?? PLATFORM_OWNER], claim);
  }

  private async claimAll(claims: readonly IdempotencyClaim[]): Promise<ClaimOutcome[]> {
    const rows = await this.database.write<ClaimRow>(
      prepared(
        'idempotency.claim',
        sql`WITH request AS (
            ${CLAIM.few(claims)}
          ), kept AS (
            SELECT request_id, digest, status, headers, body, workspace_id FROM idempotency_keys
            WHERE request_id IN (SELECT request_id FROM request) AND expires_at >= now()
          ), claimed AS (
            INSERT INTO idempotency_claims AS existing (request_id, digest, holder, locked_until)
            SELECT DISTINCT ON (request_id) request_id, digest, holder, now() + ${LEASE_SECONDS} * interval '1 second'
            FROM request WHERE request_id NOT IN (SELECT request_id FROM kept) ORDER BY request_id
            ON CONFLICT (request_id) DO UPDATE
              SET digest = excluded.digest, holder = excluded.holder, locked_until = excluded.locked_until
              WHERE existing.locked_until < now()
            RETURNING request_id, digest, holder
          )
          SELECT request.holder, request.holder = claimed.holder IS TRUE AS is_claimed,
            status, headers, body, workspace_id, coalesce(kept.digest, claimed.digest, (
              SELECT digest FROM idempotency_claims AS other WHERE other.request_id = request.request_id
            )) AS digest
          FROM request LEFT JOIN kept USING (request_id) LEFT JOIN claimed USING (request_id)`,
      ),
    );
    const outcomes = new Map(rows.map((row) => [row.holder, outcomeOf(row)]));
    return claims.map(({ holder }) => outcomes.get(holder)!);
  }

  /** Extends the lease of a claim. */
  async renew({ requestId, holder }: IdempotencyClaim): Promise<void> {
    await this.database.query(
      sql`UPDATE idempotency_claims SET locked_until = now() + ${LEASE_SECONDS} * interval '1 second'
        WHERE request_id = ${requestId} AND holder = ${holder}`,
    );
  }

  /**
   * Stores responses in the transaction of their work, and releases the claims. Returns false if another request with one of
   * the keys has stored its response. The work must then be rolled back.
   */
  async store(responses: readonly ClaimedResponse[], on: SqlExecutor): Promise<boolean> {
    const rows = await on.query(
      prepared(
        'idempotency.store',
        sql`WITH response AS (
            ${RESPONSE.few(responses.toSorted(byId))}
          ), released AS (
            DELETE FROM idempotency_claims AS claim USING response
            WHERE claim.request_id = response.request_id AND claim.holder = response.holder
          )
          INSERT INTO idempotency_keys AS existing
            (request_id, digest, org_id, status, headers, body, workspace_id, expires_at)
          SELECT DISTINCT ON (request_id) request_id, digest, org_id, status, headers, body, workspace_id,
            now() + interval '24 hours'
          FROM response ORDER BY request_id
          ON CONFLICT (request_id) DO UPDATE
            SET digest = excluded.digest, org_id = excluded.org_id, status = excluded.status, headers = excluded.headers,
              body = excluded.body, workspace_id = excluded.workspace_id, expires_at = excluded.expires_at
            WHERE existing.expires_at < now()
          RETURNING 1`,
      ),
    );
    return rows.length === responses.length;
  }

  /** Releases the claim of a request without a response to store, because only 2xx responses are stored. */
  async release({ requestId, holder }: IdempotencyClaim): Promise<void> {
    await this.database.query(
      sql`DELETE FROM idempotency_claims WHERE request_id = ${requestId} AND holder = ${holder}`,
    );
  }

  /** Deletes expired responses, and the claims of dead processes. The worker calls it periodically. */
  async deleteExpired(): Promise<void> {
    await this.database.query('DELETE FROM idempotency_keys WHERE expires_at < now()');
    await this.database.query('DELETE FROM idempotency_claims WHERE locked_until < now()');
  }
}
