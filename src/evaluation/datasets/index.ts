export { DatasetsModule } from './datasets.module';
export { type DatasetDto, DatasetListQueryDto } from './datasets/dataset.dto';
export type { DatasetEntity } from './datasets/dataset.entity';
export { DatasetRepository } from './datasets/dataset.repository';
export { DatasetService } from './datasets/dataset.service';
export {
  type CaseFilter,
  conditionsOf,
  MAY_BE_IN_SNAPSHOT,
  type RecordAsOf,
  RecordRepository,
  recordsAsOf,
} from './records/record.repository';
export { RecordWordsRepository } from './records/record-words.repository';
export {
  cellOfText,
  csvFormat,
  EXPORT_FORMATS,
  EXPORT_MEDIA,
  type ExportFormatName,
  exportParts,
  JSON_LINES,
} from './records/transfer-formats';
export type { CsvCase } from './versions/csv/csv.case';
export { DatasetContent, DatasetReadingService } from './versions/dataset-reading.service';
export { DatasetVersionRepository, type DatasetVersionRow } from './versions/dataset-version.repository';
