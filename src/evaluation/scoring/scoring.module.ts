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
import { ScoringRuleEntity } from './rules/scoring-rule.entity';
import { ScoringRuleRepository } from './rules/scoring-rule.repository';
import { ScoringRuleService } from './rules/scoring-rule.service';
import { RunExecutionRepository } from './run-execution.repository';
import { ScoreRunRepository } from './score-run.repository';
import { SCORE_RUN, ScoreRunService } from './score-run.service';
import { ScoringRunner } from './scoring-runner';
import { ScoringMetrics } from './scoring.metrics';
import { ScoringService } from './scoring.service';
import { SubjectBuilder } from './subject-builder';
import { SubjectRepository } from './subject.repository';
import { CandidateFinder } from './candidate-finder';
import { TargetSelector } from './target-selector';
import { TargetScorer } from './target-scorer';

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
    TypeOrmModule.forFeature([ScoringRuleEntity]),
  ],
  providers: [
    CandidateFinder,
    RunExecutionRepository,
    ScoreRunRepository,
    ScoreRunService,
    ScoringMetrics,
    ScoringRuleRepository,
    ScoringRuleService,
    ScoringRunner,
    ScoringService,
    SubjectBuilder,
    SubjectRepository,
    TargetScorer,
    TargetSelector,
  ],
  exports: [
    RunExecutionRepository,
    ScoreRunRepository,
    ScoreRunService,
    ScoringMetrics,
    ScoringRuleRepository,
    ScoringRuleService,
    ScoringRunner,
    ScoringService,
    TargetScorer,
    TargetSelector,
  ],
})
export class ScoringModule {}
