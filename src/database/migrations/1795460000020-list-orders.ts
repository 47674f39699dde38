import { SqlMigration } from './sql-migration';

/** Indexes in the orders of lists. */
export class ListOrders1795460000020 extends SqlMigration {
  protected readonly sql = `
    -- the audit log by the type of resource
    DROP INDEX audit_log_by_type;
    CREATE INDEX audit_log_by_type ON audit_log (org_id, resource_type, audit_entry_id);

    -- the listings of an item; of no order, in which lists of other facets could be read
    DROP INDEX store_listings_of_item;
    CREATE INDEX store_listings_of_item ON store_listings USING hash (store_item_id);

    -- versions by their ids; they are listed by their numbers, and nothing else may find those of one resource
    DROP INDEX dataset_versions_by_creation;
    CREATE INDEX dataset_versions_id ON dataset_versions USING hash (version_id);
    DROP INDEX dataset_versions_same;
    CREATE UNIQUE INDEX dataset_versions_same ON dataset_versions (sha256, dataset_id, options_sha256);
    DROP INDEX scorer_versions_by_creation;
    CREATE INDEX scorer_versions_id ON scorer_versions USING hash (version_id);

    -- live names; what a workspace has of them is found by the indexes of its lists
    DROP INDEX datasets_name;
    CREATE UNIQUE INDEX datasets_name ON datasets (name, workspace_id) WHERE archived_at IS NULL;
    DROP INDEX scorers_name;
    CREATE UNIQUE INDEX scorers_name ON scorers (name, workspace_id) WHERE archived_at IS NULL;

    -- lists by creation, which are counted without reading the table
    DROP INDEX datasets_by_creation;
    CREATE INDEX datasets_by_creation ON datasets (workspace_id, dataset_id) INCLUDE (archived_at);
    DROP INDEX scorers_by_creation;
    CREATE INDEX scorers_by_creation ON scorers (workspace_id, scorer_id) INCLUDE (archived_at);
  `;
}
