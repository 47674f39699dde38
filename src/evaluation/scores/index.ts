export { ScoresModule } from './scores.module';
export { TraceScoresModule } from './trace-scores.module';
export { KnownTargets } from './score-targets';
export { itemOf, type SampleSpread, type ScoredItem, storable } from './scored-item';
