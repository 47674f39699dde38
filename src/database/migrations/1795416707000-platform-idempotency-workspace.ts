import { SqlMigration } from './sql-migration';

/** Stores the workspace of each stored response, so that a replay checks the caller's roles there. */
export class PlatformIdempotencyWorkspace1795416707000 extends SqlMigration {
  protected readonly sql = `
    -- null: the response has no workspace, or was stored before this column existed
    ALTER TABLE idempotency_keys ADD COLUMN workspace_id text;
  `;
}
