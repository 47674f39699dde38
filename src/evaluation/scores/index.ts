export { AwaitedTraces } from './awaited-traces';
export { ScoresModule } from './scores.module';
export { detailOf, show, type ShownScores, withCurrentScores } from './current-scores.repository';
export {
  bytesOfScores,
  currentScores,
  type ExperimentScores,
  hasPeople,
  hasScore,
  machineScores,
  mayHavePeople,
  peopleOfExperiment,
  peopleOfResults,
  peopleScored,
  type ScoreCondition,
  sortedScores,
} from './current-scores.sql';
export {
  type ExperimentResult,
  type ResultRange,
  ResultReferenceRepository,
  type Times,
} from './result-reference.repository';
export { CreateScoreDto } from './score.dto';
export type { TargetKind } from './score.entity';
export { unknownScorers } from './scorer-names.repository';
export { ScoreRetention } from './score-retention';
export { ScoreDeletionRepository } from './score-deletion.repository';
export { type HostedScore, ScoreRepository, type ScoringRun } from './score.repository';
export { type CheckedScore, ScoreService } from './score.service';
export { type LockedResult, type LockedTargets, ScoreTargetRepository } from './score-target.repository';
export { TargetDirectory } from './score-targets';
export { itemOf, type SampleSpread, type ScoredItem, storable } from './scored-item';
export { TraceScoresModule } from './trace-scores.module';
export { cutComment, IsScores, readScores, scoreRowsOf, SCORES_MAX, type SentScore } from './uploaded-scores';
