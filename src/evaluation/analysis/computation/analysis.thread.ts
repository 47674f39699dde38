// The tasks of the analysis threads. They load no more than the statistics.
export { compareExperiments, measureForGate } from './paired-statistics';
export { measureAgreement } from './agreement-measures';
