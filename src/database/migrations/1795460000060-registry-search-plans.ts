import { replaceIndexes, SqlMigration } from './sql-migration';

/**
 * Restricts two indexes of documents to the statements that name their condition, which all rows meet. Their first column is
 * the organization. Without statistics, the planner therefore used them for searches by words, and read all documents of
 * the organization with their long texts.
 */
export class RegistrySearchPlans1795460000060 extends SqlMigration {
  protected readonly sql = `
    -- names with typos
    CREATE INDEX new_search_documents_by_names ON search_documents USING gin (org_id, workspace_id, spelling gin_trgm_ops)
      WHERE spelling >= '';
    -- the search filters updated_after and updated_before of searches by vector
    CREATE INDEX new_search_documents_by_update ON search_documents (org_id, updated_at) WHERE revision > 0;
    ${replaceIndexes('search_documents_by_names', 'search_documents_by_update')}
  `;
}
