export { ScoresModule } from './scores.module';
export type { TargetKind } from './score.entity';
export { IsScore } from './score.dto';
export { type CheckedScore, ScoreService } from './score.service';
export { TraceScoresModule } from './trace-scores.module';
export { TargetDirectory } from './score-targets';
export { itemOf, type SampleSpread, type ScoredItem, storable } from './scored-item';
