import { Controller, Get } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Public } from '#platform/auth';
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
  constructor(
    private readonly database: Database,
    private readonly lifecycle: Lifecycle,
  ) {}

  /** Whether the process lives: it answers as long as its event loop turns. */
  @Get('live')
  live(): HealthDto {
    return { status: 'ok' };
  }

  /** Whether requests should be sent here: the database answers, and the process is not stopping. */
  @Get('ready')
  async ready(): Promise<HealthDto> {
    if (this.lifecycle.stopping) throw problem.unavailable('The process is stopping.');
    const answered = await Promise.race([
      this.database.query('SELECT 1').then(
        () => true,
        () => false,
      ),
      new Promise<false>((resolve) => setTimeout(resolve, READY_TIMEOUT_MS, false).unref()),
    ]);
    if (!answered) throw problem.unavailable('The database is unavailable or too slow.');
    return { status: 'ok' };
  }
}
