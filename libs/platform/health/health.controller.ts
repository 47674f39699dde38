import { Controller, Get } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Public } from '#platform/auth';
import { HealthChecks } from './health.checks';
import { HealthDto } from './health.dto';

/** Probes for orchestrators. They need no token and are never limited or shed. */
@ApiTags('Health')
@Controller('health')
@Public()
export class HealthController {
  constructor(private readonly checks: HealthChecks) {}

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
    await this.checks.ready();
    return { status: 'ok' };
  }
}
