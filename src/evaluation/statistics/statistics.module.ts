import { Module } from '@nestjs/common';
import { ComputationModule } from '#platform/concurrency';
import { AnalysisThreads } from './computation/analysis.threads';

@Module({ imports: [ComputationModule], providers: [AnalysisThreads], exports: [AnalysisThreads] })
export class StatisticsModule {}
