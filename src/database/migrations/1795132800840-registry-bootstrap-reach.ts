import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * The account of the first start owns its organization, which needs a reach over all of it: `*`, which it was given
 * one workspace for want of. Where somebody has since changed what it holds, that stays.
 */
export class RegistryBootstrapReach1795132800840 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      UPDATE service_accounts SET workspace_ids = '{*}', generation = generation + 1, updated_at = now()
      WHERE roles = '{owner}' AND cardinality(workspace_ids) = 1 AND service_account_id = (
        SELECT min(a.service_account_id) FROM service_accounts a JOIN organizations o USING (org_id)
        WHERE a.created_by = 'bootstrap' AND o.created_by = 'bootstrap')
    `);
  }

  /** Which workspace it was is not kept, and `*` contains it. */
  async down(): Promise<void> {}
}
