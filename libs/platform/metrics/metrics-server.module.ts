import { Module } from '@nestjs/common';
import { MetricsModule } from './metrics.module';
import { MetricsServer } from './metrics.server';

/** Serves the metrics of the long-running processes: API, worker and standalone. */
@Module({ imports: [MetricsModule], providers: [MetricsServer], exports: [MetricsServer] })
export class MetricsServerModule {}
