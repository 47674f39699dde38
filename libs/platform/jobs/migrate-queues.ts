import { runMigrations } from 'bullmq';
import type { Client } from 'pg';
import { QUEUE_SCHEMA } from './queue-connection';

/** Brings BullMQ's tables to the version that is installed. @param session one connection, which is kept open. */
export async function migrateQueues(session: Client): Promise<void> {
  await runMigrations(session, QUEUE_SCHEMA);
}
