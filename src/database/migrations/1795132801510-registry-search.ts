import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What `POST /registry/v1/search` looks through: a document for each resource that is not archived. */
export class RegistrySearch1795132801510 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE search_documents (
        resource_type text COLLATE "C" NOT NULL,
        resource_id text COLLATE "C" NOT NULL,
        org_id text COLLATE "C" NOT NULL,
        workspace_id text COLLATE "C" NOT NULL,
        name text NOT NULL,
        description text,
        body text NOT NULL,
        updated_at timestamptz NOT NULL,
        PRIMARY KEY (resource_type, resource_id)
      );
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE search_documents');
  }
}
