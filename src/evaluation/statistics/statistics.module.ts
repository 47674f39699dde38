import { Module } from '@nestjs/common';
import { AnalysisPool } from './computation/analysis.pool';

/** The threads that compute comparisons, gates and agreement. */
@Module({ providers: [AnalysisPool], exports: [AnalysisPool] })
export class StatisticsModule {}
