import { Injectable } from '@nestjs/common';
import { empty, sql, type Tx } from '#platform/db';
import { type ErasureBatch, type ErasureRun, type ErasureStep, ErasureSteps } from './erasure-steps';

/** Responses per batch. Each may have some MiB, which PostgreSQL searches without returning it. */
const BATCH = 200;

/** Finds the strings of a JSON text, with their escapes. */
const STRINGS = String.raw`"((?:[^"\\]|\\.)+)"`;

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
    const rows = await tx.query<{ request_id: Buffer }>(
      sql`SELECT request_id FROM idempotency_keys
        WHERE org_id = ${erasure.orgId} AND request_id > ${Buffer.from(cursor ?? '', 'hex')}
        ORDER BY request_id LIMIT ${BATCH}`,
    );
    const ids = rows.map(({ request_id }) => request_id);
    if (ids.length === 0) return { counts: {}, next: null };
    const erased = erasure.isDryRun ? 0 : await this.erase(tx, erasure, ids);
    const next = ids.length < BATCH ? null : ids.at(-1)!.toString('hex');
    return { counts: { kept_responses: erased }, next };
  }

  private async erase(tx: Tx, { subject, ...of }: ErasureRun, ids: readonly Buffer[]): Promise<number> {
    if (subject === 'workspace' || subject === 'org') {
      const within = subject === 'org' ? empty : sql` AND workspace_id = ${of.workspaceId}`;
      const deleted = await tx.query(
        sql`DELETE FROM idempotency_keys
          WHERE request_id = ANY (${ids}::bytea[]) AND org_id = ${of.orgId}${within} RETURNING 1`,
      );
      return deleted.length;
    }
    // every string of a JSON response is compared; a response with its own media type is bytes
    const erased = await tx.query(
      sql`UPDATE idempotency_keys SET headers = NULL, body = NULL
        WHERE request_id = ANY (${ids}::bytea[]) AND org_id = ${of.orgId} AND body IS NOT NULL
          AND (workspace_id = ${of.workspaceId} OR workspace_id IS NULL)
          AND NOT EXISTS (SELECT FROM jsonb_object_keys(headers) name WHERE lower(name) = 'content-type')
          AND EXISTS (
            SELECT FROM regexp_matches(convert_from(body, 'UTF8'), ${STRINGS}, 'g') named (parts)
            WHERE parts[1] = ${JSON.stringify(of.id).slice(1, -1)} OR EXISTS (
              SELECT FROM erasure_items
              WHERE erasure_id = ${of.erasureId} AND workspace_id = ${of.workspaceId}
                AND item_kind IN ('trace', 'session', 'result', 'record') AND item_id = parts[1]))
        RETURNING 1`,
    );
    return erased.length;
  }
}
