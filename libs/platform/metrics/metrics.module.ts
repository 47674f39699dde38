import { Module } from '@nestjs/common';
import { Metrics } from './metrics';

/** The metrics of the application, for whoever has something to count. */
@Module({ providers: [Metrics], exports: [Metrics] })
export class MetricsModule {}
