import { Module, type OnApplicationBootstrap } from '@nestjs/common';
import { JobsWorkerModule, PeriodicTasks } from '#platform/jobs';
import { RegistryModule } from '../registry';
import { ResourcesModule } from '../resources';
import { TelemetryModule } from '../telemetry';
import { DatasetsModule, RecordWordsRepository } from './datasets';
import { DeletionWorkerModule } from './deletion';
import { JudgeRepository, JudgesModule, JudgeService } from './judges';
import { ScorersModule } from './scorers';
import {
  AwaitedTraces,
  ScoreDeletionRepository,
  ScoreRetention,
  ScoresModule,
  TraceScoresModule,
} from './scores';
import { ScoringModule } from './scoring';
import { TraceUsesModule } from './trace-uses';
import { RunExecutionService } from './scoring/score-runs/run-execution.service';
import { RuleRuns, ScoreRunExecutor } from './scoring/score-runs/score-run.executor';
import { ScoreBatchService } from './scoring/score-batches/score-batch.service';
import { ScoreRunService } from './scoring/score-runs/score-run.service';
import { ScoringRuleRunner } from './scoring/rules/scoring-rule.runner';

const RECORD_WORDS_MS = 1_000;
const RULES_MS = 3_000;
const RUN_TURNS_MS = 500;
const AWAITED_TRACES_MS = 15_000;
const STALLED_ORDERS_MS = 60_000;
const CLEAN_UP_MS = 10 * 60_000;

/** The part of evaluation that runs in a worker: scoring runs, the rules that start them, and periodic tasks. */
@Module({
  imports: [
    DatasetsModule,
    DeletionWorkerModule,
    JobsWorkerModule,
    JudgesModule,
    RegistryModule,
    ResourcesModule,
    ScorersModule,
    ScoresModule,
    ScoringModule,
    TelemetryModule,
    TraceScoresModule,
    TraceUsesModule,
  ],
  providers: [
    ScoreDeletionRepository,
    ScoreRetention,
    RunExecutionService,
    ScoreRunExecutor,
    ScoringRuleRunner,
    { provide: RuleRuns, useExisting: ScoringRuleRunner },
  ],
})
export class EvaluationWorkerModule implements OnApplicationBootstrap {
  constructor(
    private readonly tasks: PeriodicTasks,
    private readonly rules: ScoringRuleRunner,
    private readonly executor: ScoreRunExecutor,
    private readonly batches: ScoreBatchService,
    private readonly runs: ScoreRunService,
    private readonly judges: JudgeService,
    private readonly judgeRepository: JudgeRepository,
    private readonly recordWords: RecordWordsRepository,
    private readonly scoreRetention: ScoreRetention,
    private readonly awaitedTraces: AwaitedTraces,
  ) {}

  onApplicationBootstrap(): void {
    this.tasks.every('record words', RECORD_WORDS_MS, () => this.recordWords.fill());
    this.tasks.every('scoring rules', RULES_MS, () => this.rules.runDue());
    this.tasks.every('turns of scoring runs', RUN_TURNS_MS, () => this.executor.executeWaiting());
    this.tasks.every('traces of scores', AWAITED_TRACES_MS, () => this.awaitedTraces.resolve());
    this.tasks.every('retention of scores', CLEAN_UP_MS, () => this.scoreRetention.deleteExpired());
    this.tasks.every('stalled scoring orders', STALLED_ORDERS_MS, () => this.runs.continueStalledOrders());
    this.tasks.every('abandoned scoring batches', CLEAN_UP_MS, () => this.batches.deleteAbandoned());
    this.tasks.every('old judge answers', CLEAN_UP_MS, () => this.judges.deleteOldAnswers());
    this.tasks.every('old judge features', CLEAN_UP_MS, () => this.judgeRepository.deleteOldFeatures());
  }
}
