export { DatasetsModule } from './datasets.module';
export { type DatasetDto, DatasetListQueryDto } from './datasets/dataset.dto';
export type { DatasetEntity } from './datasets/dataset.entity';
export { DatasetRepository } from './datasets/dataset.repository';
export { DatasetService } from './datasets/dataset.service';
export { CaseEntity } from './records/record.entity';
export { type CaseFilter, RecordRepository } from './records/record.repository';
export { DatasetReadingService } from './versions/dataset-reading.service';
export { DatasetVersionRepository } from './versions/dataset-version.repository';
