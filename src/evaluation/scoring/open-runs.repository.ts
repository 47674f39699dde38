import { Injectable } from '@nestjs/common';
import { Database } from '#platform/db';

/** At most so many runs are counted. */
const COUNTED_MAX = 100_000;

export interface OpenRuns {
  queued: number;
  running: number;
  /** 0 where none is queued. */
  oldestQueuedSeconds: number;
}

/** By the index of runs that are open, of which there are few, whatever the number of those that have ended. */
const OPEN_RUNS = {
  name: 'score-run.open',
  text: `SELECT count(*) FILTER (WHERE run_status = 'queued') AS queued,
      count(*) FILTER (WHERE run_status = 'running') AS running,
      coalesce(extract(epoch FROM now() - min(created_at) FILTER (WHERE run_status = 'queued')), 0)::float8 AS age
    FROM (SELECT run_status, created_at FROM score_runs WHERE run_status IN ('queued', 'running')
          LIMIT ${COUNTED_MAX}) open`,
};

/** The runs of all tenants that are still to end. It crosses tenants, for those who run the service, and tells numbers alone. */
@Injectable()
export class OpenRunsRepository {
  constructor(private readonly database: Database) {}

  async count(): Promise<OpenRuns> {
    const [row] = await this.database.query<{ queued: number; running: number; age: number }>(OPEN_RUNS);
    const { queued, running, age } = row!;
    return { queued, running, oldestQueuedSeconds: Math.max(0, age) };
  }
}
