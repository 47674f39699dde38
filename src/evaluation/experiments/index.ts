export { ExperimentsModule } from './experiments.module';
export { EXPERIMENT_STATUSES, type ExperimentStatus } from './experiments/experiment.entity';
export { ExperimentRepository } from './experiments/experiment.repository';
export { type ScorerMean, SUMMARY_RESULTS_MAX, SummaryRepository } from './experiments/summary.repository';
export {
  type NamedPair,
  type NamingResult,
  ResultNamingRepository,
  type Times,
} from './results/result-naming.repository';
export { ResultRepository } from './results/result.repository';
export { ScoreWriteBackRepository } from './results/score-write-back.repository';
export { cut } from './results/scores';
export { type GivenFilter, readFilters, statusErrors } from './traces/trace-filters';
export { FILTERS_MAX, STATS_FIGURES, STATS_OPERATORS } from './traces/trace-stats.dto';
