import { Module } from '@nestjs/common';
import { MetricsModule } from '#platform/metrics';
import { LoadShedder } from './load-shedder';

@Module({ imports: [MetricsModule], providers: [LoadShedder], exports: [LoadShedder] })
export class OverloadModule {}
