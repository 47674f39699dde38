import { Module } from '@nestjs/common';
import { HealthChecks } from './health.checks';
import { HealthController } from './health.controller';

/** The checks, for every process. */
@Module({ providers: [HealthChecks], exports: [HealthChecks] })
export class HealthChecksModule {}

/** The checks as routes of the API. */
@Module({ imports: [HealthChecksModule], controllers: [HealthController] })
export class HealthModule {}

export { HealthChecks };
