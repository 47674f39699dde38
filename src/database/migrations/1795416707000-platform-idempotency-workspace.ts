import { SqlMigration } from './sql-migration';

/** Keeps the workspace of each kept answer, so that a replay checks the caller's roles there. */
export class PlatformIdempotencyWorkspace1795416707000 extends SqlMigration {
  protected readonly sql = `
    -- null: the answer has no workspace, or was kept before this column existed
    ALTER TABLE idempotency_keys ADD COLUMN workspace_id text;
  `;
}
