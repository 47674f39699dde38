export { StatisticsModule } from './statistics.module';
export type { Interval } from './bootstrap';
export type {
  AgreementMeasures,
  AnnotatorRating,
  Confusion,
  Measure,
} from './computation/agreement-measures';
export type { Ratings } from './computation/agreement-categories';
export { AnalysisThreads } from './computation/analysis.threads';
export {
  type CaseResults,
  countCases,
  type Outcome,
  outcomeOf,
  OUTCOMES,
  type PairedCases,
  resultsOf,
  type ScoreColumns,
  type ScoreTotals,
} from './computation/paired-cases';
export {
  type ComparedCases,
  type GateMeasures,
  isSameJudgeOf,
  type PairedDifference,
  type Verdict,
  VERDICTS,
} from './computation/paired-statistics';
export { exactSum, meanText } from './exact-mean.sql';
export { IntervalDto } from './interval.dto';
export { lowerBound, Numbering } from './numeric';
