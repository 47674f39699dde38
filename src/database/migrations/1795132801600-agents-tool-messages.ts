import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Which call the message of a tool answers, and who speaks. */
export class AgentsToolMessages1795132801600 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE session_messages ADD COLUMN tool_call_id text, ADD COLUMN name text');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE session_messages DROP COLUMN tool_call_id, DROP COLUMN name');
  }
}
