export { DatasetsModule } from './datasets.module';
export { type DatasetDto, DatasetListQueryDto } from './datasets/dataset.dto';
export type { DatasetEntity } from './datasets/dataset.entity';
export { DatasetRepository } from './datasets/dataset.repository';
export { DatasetService } from './datasets/dataset.service';
export { CaseEntity } from './records/record.entity';
export { RecordRepository } from './records/record.repository';
export { DatasetVersionRepository } from './versions/dataset-version.repository';
