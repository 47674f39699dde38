import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { JobsModule } from '#platform/jobs';
import { MetricsModule } from '#platform/metrics';
import { SecretsModule } from '#platform/secrets';
import { AgentsModule } from '../agents';
import { AuditLogModule } from '../registry';
import { TelemetryModule } from '../telemetry';
import { AgreementRepository } from './agreement/agreement.repository';
import { AgreementService } from './agreement/agreement.service';
import { ComparisonCache } from './comparison/comparison-cache';
import { ComparisonReader } from './comparison/comparison-reader';
import { ComparisonRepository } from './comparison/comparison.repository';
import { ComparisonService } from './comparison/comparison.service';
import { ComputingTurns } from './comparison/computing-turns';
import { DatasetContent } from './dataset-versions/dataset-content';
import { DatasetReadingService } from './dataset-versions/dataset-reading.service';
import { DatasetVersionRepository } from './dataset-versions/dataset-version.repository';
import { DatasetVersionService } from './dataset-versions/dataset-version.service';
import { DatasetSchemas } from './datasets/dataset-schemas';
import { DatasetEntity } from './datasets/dataset.entity';
import { DatasetRepository } from './datasets/dataset.repository';
import { DatasetService } from './datasets/dataset.service';
import { ExperimentFinalizer } from './experiments/experiment-finalizer';
import { ExperimentRules } from './experiments/experiment-rules';
import { ExperimentEntity } from './experiments/experiment.entity';
import { ExperimentRepository } from './experiments/experiment.repository';
import { ExperimentService } from './experiments/experiment.service';
import { SummaryRepository } from './experiments/summary.repository';
import { GateService } from './gate/gate.service';
import { JUDGES } from './judges/judge.providers';
import { RecordBulkService } from './records/record-bulk.service';
import { ImportSources } from './records/import/import-sources';
import { RecordImportRepository } from './records/import/record-import.repository';
import { RecordImportService } from './records/import/record-import.service';
import { RecordExportRepository } from './records/record-export.repository';
import { RecordExportService } from './records/record-export.service';
import { RecordEntity } from './records/record.entity';
import { RecordRepository } from './records/record.repository';
import { RecordService } from './records/record.service';
import { CaseRepository } from './results/case.repository';
import { CaseRules } from './results/case-rules';
import { ResultEntity } from './results/result.entity';
import { ResultRepository } from './results/result.repository';
import { ResultService } from './results/result.service';
import { HumanLandingRepository } from './scores/human-landing.repository';
import { HumanScoreRepository } from './scores/human-score.repository';
import { HumanScoreService } from './scores/human-score.service';
import { ScoreTargets } from './scores/score-targets';
import { UploadLandingRepository } from './scores/upload-landing.repository';
import { CodeEngine } from './scorers/code-engine';
import { ScorerDefinitions } from './scorers/definitions/scorer-definitions';
import { ScorerEntity } from './scorers/scorer.entity';
import { ScorerRepository } from './scorers/scorer.repository';
import { ScorerService } from './scorers/scorer.service';
import { ScorerStarterService } from './scorers/starters/scorer-starter.service';
import { CandidateSource } from './scoring/candidate-source';
import { EarlierScoresRepository } from './scoring/earlier-scores.repository';
import { KnownTargets } from './scoring/known-targets';
import { OpenRunsRepository } from './scoring/open-runs.repository';
import { RunOrders } from './scoring/run-orders';
import { RunWorkRepository } from './scoring/run-work.repository';
import { SCORE_RUN } from './scoring/score-run.job';
import { ScoreRunRepository } from './scoring/score-run.repository';
import { ScoreRunService } from './scoring/score-run.service';
import { ScoringMetrics } from './scoring/scoring.metrics';
import { ScoringRunner } from './scoring/scoring-runner';
import { ScoringService } from './scoring/scoring.service';
import { ScoringWork } from './scoring/scoring-work';
import { SelectionRepository } from './scoring/selection.repository';
import { UnscoredTargets } from './scoring/unscored-targets';
import { SubjectBuilder } from './scoring/subject-builder';
import { SubjectRepository } from './scoring/subject.repository';
import { TargetScorer } from './scoring/target-scorer';
import { TargetSelector } from './scoring/target-selector';
import { WorkerSlots } from './scoring/worker-slots';
import { RuleWorkRepository } from './scoring-rules/rule-work.repository';
import { ScoringRuleEntity } from './scoring-rules/scoring-rule.entity';
import { ScoringRuleRepository } from './scoring-rules/scoring-rule.repository';
import { ScoringRuleService } from './scoring-rules/scoring-rule.service';
import { ExperimentTraceRepository } from './traces/experiment-trace.repository';
import { ExperimentTraceService } from './traces/experiment-trace.service';
import { TraceStatsService } from './traces/trace-stats.service';

const SERVICES = [
  DatasetSchemas,
  DatasetService,
  DatasetVersionService,
  DatasetReadingService,
  DatasetContent,
  RecordService,
  RecordBulkService,
  RecordExportService,
  RecordImportService,
  ImportSources,
  ExperimentService,
  ExperimentRules,
  ExperimentFinalizer,
  ResultService,
  CaseRules,
  ExperimentTraceService,
  TraceStatsService,
  ScorerService,
  ScorerDefinitions,
  CodeEngine,
  ScorerStarterService,
  HumanScoreService,
  ScoreTargets,
];

const SCORING = [
  CandidateSource,
  KnownTargets,
  RunOrders,
  ScoreRunService,
  ScoringMetrics,
  ScoringRuleService,
  ScoringRunner,
  ScoringService,
  ScoringWork,
  SubjectBuilder,
  TargetScorer,
  TargetSelector,
  UnscoredTargets,
  WorkerSlots,
];

const COMPARISON = [
  AgreementRepository,
  AgreementService,
  ComparisonCache,
  ComparisonReader,
  ComparisonRepository,
  ComparisonService,
  ComputingTurns,
  GateService,
];

const REPOSITORIES = [
  DatasetRepository,
  DatasetVersionRepository,
  RecordRepository,
  RecordExportRepository,
  RecordImportRepository,
  ExperimentRepository,
  SummaryRepository,
  ResultRepository,
  CaseRepository,
  ExperimentTraceRepository,
  ScorerRepository,
  ScoreRunRepository,
  OpenRunsRepository,
  RunWorkRepository,
  EarlierScoresRepository,
  SelectionRepository,
  ScoringRuleRepository,
  RuleWorkRepository,
  SubjectRepository,
  HumanScoreRepository,
  HumanLandingRepository,
  UploadLandingRepository,
];

/** Evaluation: datasets, records, experiments, results, traces, scorers, scoring. Its logic, for the API and the worker alike. */
@Module({
  imports: [
    MetricsModule,
    TelemetryModule,
    AuditLogModule,
    AgentsModule,
    SecretsModule,
    JobsModule.register(SCORE_RUN),
    TypeOrmModule.forFeature([
      DatasetEntity,
      RecordEntity,
      ExperimentEntity,
      ResultEntity,
      ScorerEntity,
      ScoringRuleEntity,
    ]),
  ],
  providers: [...SERVICES, ...SCORING, ...JUDGES, ...COMPARISON, ...REPOSITORIES],
  exports: [...SERVICES, ...SCORING, ...JUDGES, ...COMPARISON, ...REPOSITORIES],
})
export class EvaluationModule {}
