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
import { RunExecutionRepository } from './score-runs/run-execution.repository';
import { ScoreRunRepository } from './score-runs/score-run.repository';
import { SCORE_RUN } from './score-runs/score-run.job';
import { ScoreRunService } from './score-runs/score-run.service';
import { ScoringRunner } from './score-runs/scoring-runner';
import { ScoringMetrics } from './score-runs/scoring.metrics';
import { ScoringRequestReader } from './score/scoring-request.reader';
import { ScoringService } from './score/scoring.service';
import { ScoreBatchProgress } from './score-runs/score-batch.progress';
import { ScoreBatchProgressRepository } from './score-runs/score-batch-progress.repository';
import { ScoreBatchRepository } from './score-batches/score-batch.repository';
import { ScoreBatchService } from './score-batches/score-batch.service';
import { ChunkReader } from './targets/chunk-reader';
import { SessionReader } from './targets/session-reader';
import { SubjectBuilder } from './targets/subject-builder';
import { SubjectRepository } from './targets/subject.repository';
import { CandidateFinder } from './targets/candidate-finder';
import { TargetSelector } from './targets/target-selector';
import { TargetOutcomeRepository } from './score-runs/target-outcome.repository';
import { TargetScorer } from './score-runs/target-scorer';

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
