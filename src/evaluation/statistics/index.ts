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
  caseTotals,
  type CaseTotals,
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
  type GateOutput,
  isEnough,
  type PairedDifference,
  type Verdict,
  VERDICTS,
} from './computation/paired-statistics';
export type { PassEstimate, PassRates, PassRule } from './computation/pass-rates';
export {
  MEASURES,
  type MeasureColumns,
  type MeasureDifference,
  type MeasureName,
  type RunMeasures,
} from './computation/run-measures';
export { exactSum, meanText } from './exact-mean.sql';
export { IntervalDto } from './interval.dto';
export { lowerBound, Numbering } from './numeric';
