import { replaceIndexes, SqlMigration } from './sql-migration';

/** Indexes in the order of the lists of datasets and scorers. */
export class EvaluationListOrders1795460000030 extends SqlMigration {
  protected readonly sql = `
    -- Hash indexes of the ids of versions, so that the planner cannot use them for the lists of versions, which are in the
    -- order of their numbers.
    CREATE INDEX dataset_versions_id ON dataset_versions USING hash (version_id);
    CREATE INDEX scorer_versions_id ON scorer_versions USING hash (version_id);
    -- The most selective column first, so that the planner does not use these indexes for lists.
    CREATE UNIQUE INDEX new_dataset_versions_same ON dataset_versions (sha256, dataset_id, options_sha256);
    CREATE UNIQUE INDEX new_datasets_name ON datasets (name, workspace_id) WHERE archived_at IS NULL;
    CREATE UNIQUE INDEX new_scorers_name ON scorers (name, workspace_id) WHERE archived_at IS NULL;
    -- lists by creation; they are counted without reading the table
    CREATE INDEX new_datasets_by_creation ON datasets (workspace_id, dataset_id) INCLUDE (archived_at);
    CREATE INDEX new_scorers_by_creation ON scorers (workspace_id, scorer_id) INCLUDE (archived_at);
    DROP INDEX dataset_versions_by_creation, scorer_versions_by_creation;
    ${replaceIndexes('dataset_versions_same', 'datasets_name', 'scorers_name', 'datasets_by_creation', 'scorers_by_creation')}
  `;
}
