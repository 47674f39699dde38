export { AnalysisModule } from './analysis.module';
export { MeasureDto, toMeasure } from './agreement/agreement.dto';
export { AnalysisPool } from './computation/analysis.pool';
