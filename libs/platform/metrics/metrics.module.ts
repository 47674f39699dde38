import { Module } from '@nestjs/common';
import { Metrics } from './metrics';

/** Provides the metrics of the application. */
@Module({ providers: [Metrics], exports: [Metrics] })
export class MetricsModule {}
