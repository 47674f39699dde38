import { Injectable } from '@nestjs/common';
import { type Sql, sql, type Tx } from '#platform/db';
import { type ErasureBatch, type ErasureRun, type ErasureStep, ErasureSteps } from './erasure-steps';

/** Responses per batch, and the bytes at which it ends early. PostgreSQL searches them without returning them. */
const BATCH = 200;
const BATCH_BYTES = 8 * 1024 * 1024;

/** Finds the strings of a JSON text, with their escapes. */
const STRINGS = String.raw`"((?:[^"\\]|\\.)*)"`;

/**
 * Erases responses that are kept for repeats of a request with an `Idempotency-Key`, if they name the subject or one of the
 * erasure's items. A repeat is then 409. The responses of an erased workspace or organization are deleted.
 */
@Injectable()
export class KeptResponsesRepository implements ErasureStep {
  readonly name = 'kept responses';
  readonly subjects = ['end_user', 'session', 'traces', 'workspace', 'org'] as const;
  readonly phase = 'copies';

  constructor(steps: ErasureSteps) {
    steps.add(this);
  }

  async run(tx: Tx, erasure: ErasureRun, cursor: string | null): Promise<ErasureBatch> {
    const { orgId, subject, isOfOrg, isDryRun } = erasure;
    // the responses of an organization are deleted once, after its workspaces
    if (isOfOrg && subject === 'workspace') return { counts: {}, next: null };
    const rows = await tx.query<{ request_id: Buffer; bytes: number }>(
      sql`SELECT request_id, coalesce(octet_length(body), 0) AS bytes FROM idempotency_keys
        WHERE org_id = ${orgId} AND request_id > ${Buffer.from(cursor ?? '', 'hex')}
        ORDER BY request_id LIMIT ${BATCH}`,
    );
    if (rows.length === 0) return { counts: {}, next: null };
    let bytes = 0;
    const ids = rows
      .filter((row) => (bytes += row.bytes) <= BATCH_BYTES || row === rows[0])
      .map((row) => row.request_id);
    const which = sql`request_id = ANY (${ids}::bytea[]) AND org_id = ${orgId} AND ${this.isErased(erasure)}`;
    const isPlace = subject === 'workspace' || subject === 'org';
    const erased = await tx.query(
      isDryRun
        ? sql`SELECT 1 FROM idempotency_keys WHERE ${which}`
        : isPlace
          ? sql`DELETE FROM idempotency_keys WHERE ${which} RETURNING 1`
          : sql`UPDATE idempotency_keys SET headers = NULL, body = NULL WHERE ${which} RETURNING 1`,
    );
    const isLast = ids.length === rows.length && rows.length < BATCH;
    const next = isLast ? null : ids.at(-1)!.toString('hex');
    return { counts: { kept_responses: erased.length }, next };
  }

  /** Compares every string of a JSON response with the subject and the items. A response with its own media type is bytes. */
  private isErased({ subject, erasureId, workspaceId, id }: ErasureRun): Sql {
    if (subject === 'org') return sql`true`;
    if (subject === 'workspace') return sql`workspace_id = ${workspaceId}`;
    return sql`body IS NOT NULL AND (workspace_id = ${workspaceId} OR workspace_id IS NULL)
      AND NOT EXISTS (SELECT FROM jsonb_object_keys(headers) name WHERE lower(name) = 'content-type')
      AND EXISTS (
        SELECT FROM regexp_matches(convert_from(body, 'UTF8'), ${STRINGS}, 'g') named (parts)
        WHERE parts[1] = ${JSON.stringify(id).slice(1, -1)} OR EXISTS (
          SELECT FROM erasure_items
          WHERE erasure_id = ${erasureId} AND workspace_id = ${workspaceId}
            AND item_kind IN ('trace', 'session', 'result', 'record') AND item_id = parts[1]))`;
  }
}
