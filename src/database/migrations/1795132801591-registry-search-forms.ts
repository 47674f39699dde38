import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * The words and spellings of documents that are not in the form of Unicode that words are read in. All are looked
 * through once, and the few that there are written; it is apart from the functions, which take no time.
 */
export class RegistrySearchForms1795132801591 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      UPDATE search_documents SET name = name, words = search_document_words(
        substr(encode(sha256(convert_to(org_id, 'UTF8')), 'hex'), 1, 8), name, description, body)
      WHERE NOT (concat_ws(' ', name, description, body) IS NFKC NORMALIZED)
    `);
  }

  /** What was written is found by both. */
  down(): Promise<void> {
    return Promise.resolve();
  }
}
