export { AnalysisModule } from './analysis.module';
export { MeasureDto, toMeasure } from './agreement/agreement.dto';
export type { AnnotatorRating } from './computation/agreement-measures';
export { AnalysisPool } from './computation/analysis.pool';
