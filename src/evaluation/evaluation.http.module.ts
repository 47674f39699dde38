import { Module } from '@nestjs/common';
import { JsonThreadsModule } from '#platform/json-threads';
import { TelemetryModule } from '../telemetry';
import { AnnotationModule } from './annotation';
import { DatasetsModule } from './datasets';
import { ExperimentsModule } from './experiments';
import { ScorersModule } from './scorers';
import { ScoresModule, TraceScoresModule } from './scores';
import { ScoringModule } from './scoring';
import { AnnotationItemController } from './annotation/annotation-item.controller';
import { AnnotationQueueController } from './annotation/annotation-queue.controller';
import { AgreementController } from './scorers/agreement/agreement.controller';
import { ComparisonController } from './experiments/compare/comparison.controller';
import { DatasetVersionController } from './datasets/versions/dataset-version.controller';
import { DatasetController } from './datasets/datasets/dataset.controller';
import { ExperimentController } from './experiments/experiments/experiment.controller';
import { GateController } from './experiments/gate/gate.controller';
import { RecordController } from './datasets/records/record.controller';
import { RecordTransferController } from './datasets/transfer/record-transfer.controller';
import { ResultController } from './experiments/results/result.controller';
import { ScoreController } from './scores/score.controller';
import { ScorerController } from './scorers/scorer.controller';
import { ScorerStarterController } from './scorers/starters/scorer-starter.controller';
import { ScoreBatchController } from './scoring/score-batches/score-batch.controller';
import { ScoreRunController } from './scoring/score-runs/score-run.controller';
import { ScoringRuleController } from './scoring/rules/scoring-rule.controller';
import { ScoringController } from './scoring/score/scoring.controller';
import { ExperimentTraceController } from './experiments/traces/experiment-trace.controller';

/** The routes under /eval/v1. */
@Module({
  imports: [
    AnnotationModule,
    DatasetsModule,
    ExperimentsModule,
    JsonThreadsModule,
    ScorersModule,
    ScoresModule,
    ScoringModule,
    TelemetryModule,
    TraceScoresModule,
  ],
  controllers: [
    DatasetController,
    DatasetVersionController,
    RecordTransferController,
    RecordController,
    ExperimentController,
    ComparisonController,
    AgreementController,
    GateController,
    ResultController,
    ExperimentTraceController,
    ScorerController,
    ScorerStarterController,
    ScoringController,
    ScoreRunController,
    ScoreBatchController,
    ScoringRuleController,
    ScoreController,
    AnnotationQueueController,
    AnnotationItemController,
  ],
})
export class EvaluationHttpModule {}
