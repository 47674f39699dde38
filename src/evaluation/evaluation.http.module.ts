import { Module } from '@nestjs/common';
import { TelemetryModule } from '../telemetry';
import { AnnotationQueuesModule } from './annotation-queues';
import { DatasetsModule } from './datasets';
import { DeletionModule } from './deletion';
import { ExperimentsModule } from './experiments';
import { ScorersModule } from './scorers';
import { ScoresModule, TraceScoresModule } from './scores';
import { ScoringModule } from './scoring';
import { TraceUsesModule } from './trace-uses';
import { AnnotationItemController } from './annotation-queues/annotation-item.controller';
import { AnnotationQueueController } from './annotation-queues/annotation-queue.controller';
import { AgreementController } from './scorers/agreement/agreement.controller';
import { ExperimentCaseController } from './experiments/cases/experiment-case.controller';
import { ComparisonController } from './experiments/compare/comparison.controller';
import { DatasetVersionController } from './datasets/versions/dataset-version.controller';
import { DatasetController } from './datasets/datasets/dataset.controller';
import { ExperimentController } from './experiments/experiments/experiment.controller';
import { GateController } from './experiments/gate/gate.controller';
import { RecordController } from './datasets/records/record.controller';
import { RecordExportController } from './datasets/records/export/record-export.controller';
import { RecordImportController } from './datasets/records/import/record-import.controller';
import { ResultController } from './experiments/results/result.controller';
import { ScoreController } from './scores/score.controller';
import { ScorerController } from './scorers/scorer.controller';
import { ScorerStarterController } from './scorer-starters/scorer-starter.controller';
import { ScoreBatchController } from './scoring/score-batches/score-batch.controller';
import { ScoreRunController } from './scoring/score-runs/score-run.controller';
import {
  ScoringRuleController,
  WorkspaceScoringRuleController,
} from './scoring/rules/scoring-rule.controller';
import { ScoringController } from './scoring/score/scoring.controller';
import { ExperimentTrialController } from './experiments/trials/experiment-trial.controller';
import { ExperimentTraceController } from './experiments/traces/experiment-trace.controller';

/** The routes under /eval/v1. */
@Module({
  imports: [
    AnnotationQueuesModule,
    DatasetsModule,
    DeletionModule,
    ExperimentsModule,
    ScorersModule,
    ScoresModule,
    ScoringModule,
    TelemetryModule,
    TraceScoresModule,
    TraceUsesModule,
  ],
  controllers: [
    DatasetController,
    DatasetVersionController,
    RecordExportController,
    RecordImportController,
    RecordController,
    ExperimentController,
    ExperimentCaseController,
    ComparisonController,
    AgreementController,
    GateController,
    ResultController,
    ExperimentTraceController,
    ExperimentTrialController,
    ScorerController,
    ScorerStarterController,
    ScoringController,
    ScoreRunController,
    ScoreBatchController,
    ScoringRuleController,
    WorkspaceScoringRuleController,
    ScoreController,
    AnnotationQueueController,
    AnnotationItemController,
  ],
})
export class EvaluationHttpModule {}
