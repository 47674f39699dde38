import { type BeforeApplicationShutdown, Injectable } from '@nestjs/common';
import { HEALTH, runAs, SingleFlight, withDeadline } from '#platform/concurrency';
import { Database } from '#platform/db';
import { problem } from '#platform/problem';

const READY_TIMEOUT_MS = 2_000;

/** Checks whether the process is ready for work. */
@Injectable()
export class HealthChecks implements BeforeApplicationShutdown {
  /** Concurrent checks share one ping of the database. */
  private readonly pings = new SingleFlight<void>();
  private isStopping = false;

  constructor(private readonly database: Database) {}

  beforeApplicationShutdown(): void {
    this.isStopping = true;
  }

  /** Throws 503 if the process is stopping, or if the database does not respond within 2 s. */
  async ready(): Promise<void> {
    if (this.isStopping) throw problem.unavailable('The process is stopping.');
    try {
      const ping = this.pings.run('', undefined, () => runAs(HEALTH, () => this.database.ping()));
      await withDeadline(ping, READY_TIMEOUT_MS, 'The database did not respond in time.');
    } catch (cause) {
      throw problem.unavailable('The database is unavailable or too slow.', { cause });
    }
  }
}
