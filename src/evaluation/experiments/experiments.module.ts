import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { ResourcesModule } from '../../resources';
import { TelemetryModule } from '../../telemetry';
import { DatasetsModule } from '../datasets';
import { ExperimentFinalizer } from './experiments/experiment-finalizer';
import { ExperimentEntity } from './experiments/experiment.entity';
import { ExperimentRepository } from './experiments/experiment.repository';
import { ExperimentService } from './experiments/experiment.service';
import { SummaryRepository } from './experiments/summary.repository';
import { CaseRules } from './results/case-rules';
import { ResultNamingRepository } from './results/result-naming.repository';
import { ResultEntity } from './results/result.entity';
import { ResultRepository } from './results/result.repository';
import { ResultService } from './results/result.service';
import { ScoreWriteBackRepository } from './results/score-write-back.repository';
import { ExperimentTraceRepository } from './traces/experiment-trace.repository';
import { ExperimentTraceService } from './traces/experiment-trace.service';
import { TraceStatsService } from './traces/trace-stats.service';

/** Experiments, their results, and the traces that results name. */
@Module({
  imports: [
    DatasetsModule,
    ResourcesModule,
    TelemetryModule,
    TypeOrmModule.forFeature([ExperimentEntity, ResultEntity]),
  ],
  providers: [
    CaseRules,
    ExperimentFinalizer,
    ExperimentRepository,
    ExperimentService,
    ExperimentTraceRepository,
    ExperimentTraceService,
    ResultNamingRepository,
    ResultRepository,
    ResultService,
    ScoreWriteBackRepository,
    SummaryRepository,
    TraceStatsService,
  ],
  exports: [
    ExperimentRepository,
    ExperimentService,
    ExperimentTraceService,
    ResultNamingRepository,
    ResultRepository,
    ResultService,
    ScoreWriteBackRepository,
    SummaryRepository,
    TraceStatsService,
  ],
})
export class ExperimentsModule {}
