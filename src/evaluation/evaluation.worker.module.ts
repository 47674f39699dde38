import { Module } from '@nestjs/common';
import { JobsWorkerModule } from '#platform/jobs';
import { ResourcesModule } from '../resources';
import { TelemetryModule } from '../telemetry';
import { JudgesModule } from './judges';
import { ScorersModule } from './scorers';
import { ScoringModule } from './scoring';
import { JudgeSweeper } from './judges/judging/judge.sweeper';
import { ScoreRunExecutor } from './scoring/score-run.executor';
import { ScoreRunSweeper } from './scoring/score-run.sweeper';
import { ScoringRuleRunner } from './scoring/rules/scoring-rule.runner';
import { ScoringRuleScheduler } from './scoring/rules/scoring-rule.scheduler';

/** The part of evaluation that runs in the worker: scoring runs, and the rules that start them. */
@Module({
  imports: [JobsWorkerModule, JudgesModule, ResourcesModule, ScorersModule, ScoringModule, TelemetryModule],
  providers: [JudgeSweeper, ScoreRunExecutor, ScoreRunSweeper, ScoringRuleRunner, ScoringRuleScheduler],
})
export class EvaluationWorkerModule {}
