import { Controller, Get } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Public } from '#platform/auth';
import { HEALTH, runAs, SingleFlight, withDeadline } from '#platform/concurrency';
import { Database } from '#platform/db';
import { problem } from '#platform/problem';
import { HealthDto } from './health.dto';
import { Lifecycle } from './lifecycle';

const READY_TIMEOUT_MS = 2_000;

/** Probes for orchestrators. They need no token and are never limited or shed. */
@ApiTags('Health')
@Controller('health')
@Public()
export class HealthController {
  /** Concurrent checks share one ping of the database. */
  private readonly pings = new SingleFlight<void>();

  constructor(
    private readonly database: Database,
    private readonly lifecycle: Lifecycle,
  ) {}

  /**
   * Check whether the process is alive
   *
   * @remarks Responds as long as the event loop of the process runs.
   */
  @Get('live')
  live(): HealthDto {
    return { status: 'ok' };
  }

  /**
   * Check whether the process is ready
   *
   * @remarks A process is ready if its database responds and it is not stopping.
   */
  @Get('ready')
  async ready(): Promise<HealthDto> {
    if (this.lifecycle.stopping) throw problem.unavailable('The process is stopping.');
    try {
      const ping = this.pings.run('', undefined, () => runAs(HEALTH, () => this.database.ping()));
      await withDeadline(ping, READY_TIMEOUT_MS, 'The database did not respond in time.');
    } catch (cause) {
      throw problem.unavailable('The database is unavailable or too slow.', { cause });
    }
    return { status: 'ok' };
  }
}
