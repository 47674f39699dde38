import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { TelemetryModule } from '../telemetry';
import { DatasetEntity } from './datasets/dataset.entity';
import { DatasetRepository } from './datasets/dataset.repository';
import { DatasetService } from './datasets/dataset.service';
import { ExperimentFinalizer } from './experiments/experiment-finalizer';
import { ExperimentRules } from './experiments/experiment-rules';
import { ExperimentEntity } from './experiments/experiment.entity';
import { ExperimentRepository } from './experiments/experiment.repository';
import { ExperimentService } from './experiments/experiment.service';
import { SummaryRepository } from './experiments/summary.repository';
import { RecordBulkService } from './records/record-bulk.service';
import { RecordEntity } from './records/record.entity';
import { RecordRepository } from './records/record.repository';
import { RecordService } from './records/record.service';
import { CaseRepository } from './results/case.repository';
import { CaseRules } from './results/case-rules';
import { ResultEntity } from './results/result.entity';
import { ResultRepository } from './results/result.repository';
import { ResultService } from './results/result.service';
import { ExperimentTraceRepository } from './traces/experiment-trace.repository';
import { ExperimentTraceService } from './traces/experiment-trace.service';

const SERVICES = [
  DatasetService,
  RecordService,
  RecordBulkService,
  ExperimentService,
  ExperimentRules,
  ExperimentFinalizer,
  ResultService,
  CaseRules,
  ExperimentTraceService,
];

const REPOSITORIES = [
  DatasetRepository,
  RecordRepository,
  ExperimentRepository,
  SummaryRepository,
  ResultRepository,
  CaseRepository,
  ExperimentTraceRepository,
];

/** Evaluation: datasets, records, experiments, results, traces. Its logic, for the API and the worker alike. */
@Module({
  imports: [
    TelemetryModule,
    TypeOrmModule.forFeature([DatasetEntity, RecordEntity, ExperimentEntity, ResultEntity]),
  ],
  providers: [...SERVICES, ...REPOSITORIES],
  exports: [...SERVICES, ...REPOSITORIES],
})
export class EvaluationModule {}
