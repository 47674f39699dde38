import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { RegistryModule } from '../../registry';
import { ResourcesModule } from '../../resources';
import { TelemetryModule } from '../../telemetry';
import { DatasetsModule } from '../datasets';
import { ScorersModule } from '../scorers';
import { ScoresModule } from '../scores';
import { StatisticsModule } from '../statistics';
import { ExperimentCaseRepository } from './cases/experiment-case.repository';
import { ExperimentCaseService } from './cases/experiment-case.service';
import { ComparedCasePages } from './compare/compared-case.pages';
import { ComparedResultRepository } from './compare/compared-result.repository';
import { ComparisonRepository } from './compare/comparison.repository';
import { ComparisonService } from './compare/comparison.service';
import { ScoreReader } from './compare/score-reader';
import { UsageReader } from './compare/usage-reader';
import { ExperimentCases } from './experiments/experiment-cases';
import { ExperimentFinalizer } from './experiments/experiment-finalizer';
import { ExperimentEntity } from './experiments/experiment.entity';
import { ExperimentRepository } from './experiments/experiment.repository';
import { ExperimentService } from './experiments/experiment.service';
import { SummaryRepository } from './experiments/summary.repository';
import { GateRepository } from './gate/gate.repository';
import { GateService } from './gate/gate.service';
import { CaseRules } from './results/case-rules';
import { ResultExportService } from './results/result-export.service';
import { ResultListRepository } from './results/result-list.repository';
import { ResultRepository } from './results/result.repository';
import { ResultService } from './results/result.service';
import { ExperimentTrialRepository } from './trials/experiment-trial.repository';
import { ExperimentTrialService } from './trials/experiment-trial.service';
import { ExperimentTraceRepository } from './traces/experiment-trace.repository';
import { ExperimentTraceService } from './traces/experiment-trace.service';
import { TraceStatsService } from './traces/trace-stats.service';

/** Experiments, their results, comparisons and gates, and the traces that results reference. */
@Module({
  imports: [
    DatasetsModule,
    RegistryModule,
    ResourcesModule,
    ScorersModule,
    ScoresModule,
    StatisticsModule,
    TelemetryModule,
    TypeOrmModule.forFeature([ExperimentEntity]),
  ],
  providers: [
    ExperimentCaseRepository,
    CaseRules,
    ExperimentCaseService,
    ComparedCasePages,
    ComparedResultRepository,
    ComparisonRepository,
    ComparisonService,
    ExperimentCases,
    ExperimentFinalizer,
    ExperimentRepository,
    ExperimentService,
    ExperimentTraceRepository,
    ExperimentTraceService,
    ExperimentTrialRepository,
    ExperimentTrialService,
    GateRepository,
    GateService,
    ResultExportService,
    ResultListRepository,
    ResultRepository,
    ResultService,
    ScoreReader,
    SummaryRepository,
    TraceStatsService,
    UsageReader,
  ],
  exports: [
    ExperimentCaseService,
    ComparisonService,
    ExperimentRepository,
    ExperimentService,
    ExperimentTraceService,
    ExperimentTrialService,
    GateService,
    ResultExportService,
    ResultService,
    TraceStatsService,
  ],
})
export class ExperimentsModule {}
