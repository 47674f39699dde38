import { Module } from '@nestjs/common';
import { AgreementController } from './agreement/agreement.controller';
import { ComparisonController } from './comparison/comparison.controller';
import { DatasetVersionController } from './dataset-versions/dataset-version.controller';
import { DatasetController } from './datasets/dataset.controller';
import { EvaluationModule } from './evaluation.module';
import { ExperimentController } from './experiments/experiment.controller';
import { GateController } from './gate/gate.controller';
import { RecordController } from './records/record.controller';
import { RecordTransferController } from './records/record-transfer.controller';
import { ResultController } from './results/result.controller';
import { HumanScoreController } from './scores/human-score.controller';
import { ScorerController } from './scorers/scorer.controller';
import { ScorerStarterController } from './scorers/starters/scorer-starter.controller';
import { ScoreRunController } from './scoring/score-run.controller';
import { ScoringRuleController } from './scoring-rules/scoring-rule.controller';
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
    ComparisonController,
    AgreementController,
    GateController,
    ResultController,
    ExperimentTraceController,
    ScorerController,
    ScorerStarterController,
    ScoringController,
    ScoreRunController,
    ScoringRuleController,
    HumanScoreController,
  ],
})
export class EvaluationHttpModule {}
