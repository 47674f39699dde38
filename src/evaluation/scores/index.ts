export { ScoresModule } from './scores.module';
export {
  bytesOfScores,
  CURRENT_FIRST,
  currentScoresOfExperiment,
  hasPeople,
  hasScore,
  machineScoresOfExperiment,
  peopleOfExperiment,
  readShownScores,
  scoresOfResult,
  shownScores,
  sortedScores,
  type ShownScores,
} from './current-scores.sql';
export {
  type ExperimentResult,
  type ReferencedPair,
  type ReferencingResult,
  type ResultRange,
  ResultReferenceRepository,
  type Times,
} from './result-reference.repository';
export { IsScore } from './score.dto';
export type { TargetKind } from './score.entity';
export { type HostedScore, ScoreRepository, type ScoringRun } from './score.repository';
export { type CheckedScore, ScoreService } from './score.service';
export { type LockedResult, ScoreTargetRepository, type TargetKey } from './score-target.repository';
export { TargetDirectory } from './score-targets';
export { itemOf, type SampleSpread, type ScoredItem, storable } from './scored-item';
export { TraceScoresModule } from './trace-scores.module';
export {
  cutComment,
  detailOf,
  IsScores,
  readScores,
  type ScoreDetail,
  scoreRowsOf,
  SCORES_MAX,
  type SentScore,
  showSent,
} from './uploaded-scores';
