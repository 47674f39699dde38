import { Module } from '@nestjs/common';
import { HealthChecksModule } from '#platform/health';
import { MetricsModule } from '#platform/metrics';
import { MetricsServer } from './metrics.server';

/** Serves the metrics and the health of the long-running processes: API, worker and standalone. */
@Module({
  imports: [MetricsModule, HealthChecksModule],
  providers: [MetricsServer],
  exports: [MetricsServer],
})
export class MetricsServerModule {}
