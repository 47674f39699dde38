export { ScoresModule } from './scores.module';
export { HumanScoreService, type PreparedScore } from './human-score.service';
export { KnownTargets } from './score-targets';
export { itemOf, type SampleSpread, type ScoredItem, storable } from './scored-item';
