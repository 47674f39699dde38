import { Module } from '@nestjs/common';
import { JobsWorkerModule } from '#platform/jobs';
import { LiveWorkspaceModule } from '../registry';
import { TelemetryModule } from '../telemetry';
import { EvaluationModule } from './evaluation.module';
import { JudgeSweeper } from './judges/judge.sweeper';
import { ScoreRunExecutor } from './scoring/score-run.executor';
import { ScoreRunSweeper } from './scoring/score-run.sweeper';
import { ScoringProcessor } from './scoring/scoring.processor';
import { RuleStepper } from './scoring-rules/rule-stepper';
import { ScoringRuleSweeper } from './scoring-rules/scoring-rule.sweeper';

/** What of evaluation runs in the worker: scoring runs, and the rules that order them. */
@Module({
  imports: [EvaluationModule, JobsWorkerModule, LiveWorkspaceModule, TelemetryModule],
  providers: [
    JudgeSweeper,
    ScoreRunExecutor,
    ScoreRunSweeper,
    ScoringProcessor,
    RuleStepper,
    ScoringRuleSweeper,
  ],
})
export class EvaluationWorkerModule {}
