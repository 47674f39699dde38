import { migrate } from '../../src/database/migrate';
import { finishBackfill } from './backfill.fixture';
import { LATER, LATER_MIGRATIONS, NEXT, NEXT_MIGRATIONS } from './next-release.fixture';

/** Migrates the database as another release does, or runs its backfill, in a process that a test can kill. */
const PHASES: Readonly<Record<string, (url: string) => Promise<unknown>>> = {
  next: (url) => migrate(url, { migrations: NEXT_MIGRATIONS, release: NEXT }),
  later: (url) => migrate(url, { migrations: LATER_MIGRATIONS, release: LATER }),
  backfill: finishBackfill,
};

void PHASES[process.argv[2]!]!(process.env.DATABASE_URL!);
