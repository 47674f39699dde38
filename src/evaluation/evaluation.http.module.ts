import { Module } from '@nestjs/common';
import { DatasetVersionController } from './dataset-versions/dataset-version.controller';
import { DatasetController } from './datasets/dataset.controller';
import { EvaluationModule } from './evaluation.module';
import { ExperimentController } from './experiments/experiment.controller';
import { RecordController } from './records/record.controller';
import { RecordTransferController } from './records/record-transfer.controller';
import { ResultController } from './results/result.controller';
import { ScorerController } from './scorers/scorer.controller';
import { ScoreRunController } from './scoring/score-run.controller';
import { ScoringController } from './scoring/scoring.controller';
import { ExperimentTraceController } from './traces/experiment-trace.controller';

/** The routes under /eval/v1. */
@Module({
  imports: [EvaluationModule],
  controllers: [
    DatasetController,
    DatasetVersionController,
    RecordTransferController,
    RecordController,
    ExperimentController,
    ResultController,
    ExperimentTraceController,
    ScorerController,
    ScoringController,
    ScoreRunController,
  ],
})
export class EvaluationHttpModule {}
