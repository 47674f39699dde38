import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { JobsModule } from '#platform/jobs';
import { MetricsModule } from '#platform/metrics';
import { AgentsModule } from '../../agents';
import { ResourcesModule } from '../../resources';
import { TelemetryModule } from '../../telemetry';
import { ExperimentsModule } from '../experiments';
import { JudgesModule } from '../judges';
import { ScorersModule } from '../scorers';
import { ScoresModule } from '../scores';
import { TraceContentModule } from '../trace-content';
import { ScoringRuleEntity } from './rules/scoring-rule.entity';
import { ScoringRuleMetrics } from './rules/scoring-rule.metrics';
import { ScoringRuleRepository } from './rules/scoring-rule.repository';
import { ScoringRuleService } from './rules/scoring-rule.service';
import { ScoringService } from './score/scoring.service';
import { ScoreBatchRepository } from './score-batches/score-batch.repository';
import { ScoreBatchService } from './score-batches/score-batch.service';
import { RunExecutionRepository } from './score-runs/run-execution.repository';
import { RunTurnRepository } from './score-runs/run-turn.repository';
import { ScoreRunRepository } from './score-runs/score-run.repository';
import { SCORE_RUN, ScoreRunService } from './score-runs/score-run.service';
import { ScoringMetrics } from './score-runs/scoring.metrics';
import { ScoringRunner } from './score-runs/scoring-runner';
import { SubjectBuilder } from './targets/subject-builder';
import { SubjectReader } from './targets/subject-reader';
import { TargetRepository } from './targets/target.repository';
import { TargetSelector } from './targets/target-selector';
import { OpenWorkRepository } from './waiting/open-work.repository';
import { WorkWaiter } from './waiting/work-waiter';

const PROVIDERS = [
  OpenWorkRepository,
  RunExecutionRepository,
  RunTurnRepository,
  ScoreBatchRepository,
  ScoreBatchService,
  ScoreRunRepository,
  ScoreRunService,
  ScoringMetrics,
  ScoringRuleMetrics,
  ScoringRuleRepository,
  ScoringRuleService,
  ScoringRunner,
  ScoringService,
  SubjectBuilder,
  SubjectReader,
  TargetRepository,
  TargetSelector,
  WorkWaiter,
];

/** Scoring: requests for scores, their runs, and the rules that start runs. */
@Module({
  imports: [
    AgentsModule,
    ExperimentsModule,
    JobsModule.register(SCORE_RUN),
    JudgesModule,
    MetricsModule,
    ResourcesModule,
    ScorersModule,
    ScoresModule,
    TelemetryModule,
    TraceContentModule,
    TypeOrmModule.forFeature([ScoringRuleEntity]),
  ],
  providers: PROVIDERS,
  exports: PROVIDERS,
})
export class ScoringModule {}
