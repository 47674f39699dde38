import { Module } from '@nestjs/common';
import { MetricsModule } from './metrics.module';
import { MetricsServer } from './metrics.server';

/** Serves the metrics, for the processes that run: the API, the worker, and both in one. */
@Module({ imports: [MetricsModule], providers: [MetricsServer], exports: [MetricsServer] })
export class MetricsServerModule {}
