// The tasks of the analysis threads, which load only the statistics.
export { compareExperiments, measureForGate } from './paired-statistics';
export { measureTrials } from './pass-rates';
export { compareMeasures } from './run-measures';
export { measureAgreement, measureAnnotators } from './agreement-measures';
