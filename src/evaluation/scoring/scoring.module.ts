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
import { ScoringRuleRepository } from './rules/scoring-rule.repository';
import { ScoringRuleService } from './rules/scoring-rule.service';
import { RunExecutionRepository } from './execution/run-execution.repository';
import { ScoreRunRepository } from './runs/score-run.repository';
import { SCORE_RUN } from './runs/score-run.job';
import { ScoreRunService } from './runs/score-run.service';
import { ScoringRunner } from './execution/scoring-runner';
import { ScoringMetrics } from './execution/scoring.metrics';
import { ScoringRequestReader } from './requests/scoring-request.reader';
import { ScoringService } from './requests/scoring.service';
import { ScoreBatchProgress } from './runs/score-batch.progress';
import { ScoreBatchProgressRepository } from './runs/score-batch-progress.repository';
import { ScoreBatchRepository } from './batches/score-batch.repository';
import { ScoreBatchService } from './batches/score-batch.service';
import { ChunkReader } from './subjects/chunk-reader';
import { SessionReader } from './subjects/session-reader';
import { SubjectBuilder } from './subjects/subject-builder';
import { SubjectRepository } from './subjects/subject.repository';
import { CandidateFinder } from './target-selection/candidate-finder';
import { TargetSelector } from './target-selection/target-selector';
import { TargetOutcomeRepository } from './execution/target-outcome.repository';
import { TargetScorer } from './execution/target-scorer';

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
  providers: [
    CandidateFinder,
    RunExecutionRepository,
    ScoreBatchProgress,
    ScoreBatchProgressRepository,
    ScoreBatchRepository,
    ScoreBatchService,
    ScoreRunRepository,
    ScoreRunService,
    ScoringMetrics,
    ScoringRuleRepository,
    ScoringRuleService,
    ScoringRequestReader,
    ScoringRunner,
    ScoringService,
    ChunkReader,
    SessionReader,
    SubjectBuilder,
    SubjectRepository,
    TargetOutcomeRepository,
    TargetScorer,
    TargetSelector,
  ],
  exports: [
    RunExecutionRepository,
    ScoreBatchProgress,
    ScoreBatchService,
    ScoreRunRepository,
    ScoreRunService,
    ScoringMetrics,
    ScoringRuleRepository,
    ScoringRuleService,
    ScoringRunner,
    ScoringService,
    SubjectBuilder,
    TargetOutcomeRepository,
    TargetScorer,
    TargetSelector,
  ],
})
export class ScoringModule {}
