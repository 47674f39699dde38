import { Module } from '@nestjs/common';
import { JobsWorkerModule } from '#platform/jobs';
import { EvaluationModule } from './evaluation.module';
import { JudgeSweeper } from './judges/judge.sweeper';
import { ScoreRunExecutor } from './scoring/score-run.executor';
import { ScoreRunSweeper } from './scoring/score-run.sweeper';
import { ScoringProcessor } from './scoring/scoring.processor';

/** What of evaluation runs in the worker: scoring runs. */
@Module({
  imports: [EvaluationModule, JobsWorkerModule],
  providers: [JudgeSweeper, ScoreRunExecutor, ScoreRunSweeper, ScoringProcessor],
})
export class EvaluationWorkerModule {}
