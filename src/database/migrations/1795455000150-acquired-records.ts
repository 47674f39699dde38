import { SqlMigration } from './sql-migration';

/** Which records a release installed, so that the next release can archive the records that it no longer contains. */
export class AcquiredRecords1795455000150 extends SqlMigration {
  protected readonly sql = `
    -- the version that a release wrote; null for other records. A record with a later version has been changed by a user.
    ALTER TABLE records ADD COLUMN acquired_version integer;
  `;
}
