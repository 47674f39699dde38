import { Injectable } from '@nestjs/common';
import { sql, type Tx } from '#platform/db';
import { type ErasureBatch, type ErasureRun, type ErasureStep, ErasureSteps } from '../../resources';

/** Keys per batch. */
const BATCH = 200;

/**
 * Erases the gateway keys of a workspace with their service accounts, so that they authenticate nobody any more, and what they
 * have spent.
 */
@Injectable()
export class GatewayKeyErasureRepository implements ErasureStep {
  readonly name = 'gateway keys';
  readonly subjects = ['workspace'] as const;
  readonly phase = 'erase';

  constructor(steps: ErasureSteps) {
    steps.add(this);
  }

  async run(tx: Tx, { orgId, workspaceId, isDryRun }: ErasureRun): Promise<ErasureBatch> {
    const accounts = sql`SELECT service_account_id FROM gateway_keys
      WHERE org_id = ${orgId} AND workspace_id = ${workspaceId}`;
    if (isDryRun) {
      const rows = await tx.query(accounts);
      return { counts: { gateway_keys: rows.length }, next: null };
    }
    const deleted = await tx.query(
      sql`WITH deleted AS (
          DELETE FROM service_accounts
          WHERE org_id = ${orgId} AND service_account_id = ANY (ARRAY(${accounts} LIMIT ${BATCH}))
          RETURNING service_account_id
        ), spent AS (
          DELETE FROM model_spend WHERE subject IN (SELECT service_account_id FROM deleted)
        ) SELECT 1 FROM deleted`,
    );
    return { counts: { gateway_keys: deleted.length }, next: deleted.length < BATCH ? null : 'more' };
  }
}
