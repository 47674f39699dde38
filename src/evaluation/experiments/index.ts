export { ExperimentsModule } from './experiments.module';
export { EXPERIMENT_STATUSES, type ExperimentStatus } from './experiments/experiment.entity';
export { ExperimentListQueryDto } from './experiments/experiment-query.dto';
export { CoverageDto, type ExperimentDto } from './experiments/experiment.dto';
export { ExperimentRepository } from './experiments/experiment.repository';
export { ExperimentService } from './experiments/experiment.service';
export { SUMMARY_RESULTS_MAX } from './experiments/summary.repository';
export {
  type ExperimentResult,
  type ReferencedPair,
  type ReferencingResult,
  type ResultRange,
  ResultReferenceRepository,
  type Times,
} from './results/result-reference.repository';
export { ScorerDirectory } from './results/case-rules';
export { type LockedResult, ResultLockRepository } from './results/result-lock.repository';
export { REPLACE_SCORE } from './results/result-score.repository';
export { type ResultId, type ResultKey, ResultRepository } from './results/result.repository';
export { type NewResult, ScoreWriteBack, type WrittenBackScores } from './results/score-write-back';
export { cutComment } from './results/scores';
