export { type DatasetDto, DatasetListQueryDto, DatasetService, DatasetsModule } from './datasets';
export { EvaluationHttpModule } from './evaluation.http.module';
export { EvaluationWorkerModule } from './evaluation.worker.module';
export {
  EXPERIMENT_STATUSES,
  type ExperimentDto,
  ExperimentListQueryDto,
  ExperimentService,
  ExperimentsModule,
} from './experiments';
export {
  GRAINS,
  SCORER_KINDS,
  type ScorerDto,
  ScorerListQueryDto,
  ScorerService,
  ScorersModule,
} from './scorers';
export {
  RUN_STATUSES,
  ScoreRequestDto,
  type ScoreResultDto,
  type ScoreRunDto,
  ScoreRunService,
  ScoringModule,
  ScoringService,
} from './scoring';
