import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { JsonThreadsModule } from '#platform/json-threads';
import { ResourcesModule } from '../../resources';
import { TelemetryModule } from '../../telemetry';
import { DatasetsModule } from '../datasets';
import { ExperimentCases } from './experiments/experiment-cases';
import { ExperimentFinalizer } from './experiments/experiment-finalizer';
import { ExperimentEntity } from './experiments/experiment.entity';
import { ExperimentRepository } from './experiments/experiment.repository';
import { ExperimentService } from './experiments/experiment.service';
import { SummaryRepository } from './experiments/summary.repository';
import { ResultListRepository } from './results/result-list.repository';
import { ResultLockRepository } from './results/result-lock.repository';
import { ResultReferenceRepository } from './results/result-reference.repository';
import { ResultEntity } from './results/result.entity';
import { ResultRepository } from './results/result.repository';
import { ResultScoreRepository } from './results/result-score.repository';
import { ExperimentTraceRepository } from './traces/experiment-trace.repository';
import { ExperimentTraceService } from './traces/experiment-trace.service';
import { TraceStatsService } from './traces/trace-stats.service';

/** Experiments, the tables of their results, and the traces that results reference. */
@Module({
  imports: [
    DatasetsModule,
    JsonThreadsModule,
    ResourcesModule,
    TelemetryModule,
    TypeOrmModule.forFeature([ExperimentEntity, ResultEntity]),
  ],
  providers: [
    ExperimentCases,
    ExperimentFinalizer,
    ExperimentRepository,
    ExperimentService,
    ExperimentTraceRepository,
    ExperimentTraceService,
    ResultListRepository,
    ResultLockRepository,
    ResultReferenceRepository,
    ResultRepository,
    ResultScoreRepository,
    SummaryRepository,
    TraceStatsService,
  ],
  exports: [
    ExperimentRepository,
    ExperimentService,
    ExperimentTraceService,
    ResultListRepository,
    ResultLockRepository,
    ResultReferenceRepository,
    ResultRepository,
    ResultScoreRepository,
    SummaryRepository,
    TraceStatsService,
  ],
})
export class ExperimentsModule {}
