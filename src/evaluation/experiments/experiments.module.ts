import { type DynamicModule, Module, type Type } from '@nestjs/common';
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
import { ResultLockRepository } from './results/result-lock.repository';
import { ResultNamingRepository } from './results/result-naming.repository';
import { ResultEntity } from './results/result.entity';
import { ResultRepository } from './results/result.repository';
import { ResultService } from './results/result.service';
import { ExperimentTraceRepository } from './traces/experiment-trace.repository';
import { ExperimentTraceService } from './traces/experiment-trace.service';
import { TraceStatsService } from './traces/trace-stats.service';

/** Experiments, the tables of their results, and the traces that results name. */
@Module({
  imports: [
    DatasetsModule,
    ResourcesModule,
    TelemetryModule,
    TypeOrmModule.forFeature([ExperimentEntity, ResultEntity]),
  ],
  providers: [
    ExperimentFinalizer,
    ExperimentRepository,
    ExperimentService,
    ExperimentTraceRepository,
    ExperimentTraceService,
    ResultLockRepository,
    ResultNamingRepository,
    ResultRepository,
    SummaryRepository,
    TraceStatsService,
  ],
  exports: [
    ExperimentRepository,
    ExperimentService,
    ExperimentTraceService,
    ResultLockRepository,
    ResultNamingRepository,
    ResultRepository,
    SummaryRepository,
    TraceStatsService,
  ],
})
export class ExperimentsModule {}

/** The creation and reading of results, which needs what is built on experiments: scorers and human scores. */
@Module({})
export class ResultsModule {
  /** @param modules the modules that export `ScorerDirectory` and `ScoreWriteBack` */
  static using(...modules: Type[]): DynamicModule {
    return {
      module: ResultsModule,
      imports: [DatasetsModule, ExperimentsModule, ...modules],
      providers: [CaseRules, ResultService],
      exports: [ResultService],
    };
  }
}
