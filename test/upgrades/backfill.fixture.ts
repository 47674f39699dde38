import { DataSource } from 'typeorm';
import { Database } from '#platform/db';
import { BackfillRepository } from '../../src/database/backfill.repository';
import { BACKFILL } from './next-release.fixture';

/** Runs the backfill of the next release to its end, as a worker does. */
export async function finishBackfill(url: string): Promise<void> {
  const source = new DataSource({ type: 'postgres', url, applicationName: 'backfill' });
  const backfills = new BackfillRepository(new Database(await source.initialize()));
  while (await backfills.runBatch(BACKFILL));
  await source.destroy();
}
