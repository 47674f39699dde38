import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { ComputationModule } from '#platform/concurrency';
import { ResourcesModule } from '../../resources';
import { TelemetryModule } from '../../telemetry';
import { TraceContentModule } from '../trace-content';
import { DatasetSchemas } from './datasets/dataset-schemas';
import { DatasetEntity } from './datasets/dataset.entity';
import { DatasetRepository } from './datasets/dataset.repository';
import { DatasetService } from './datasets/dataset.service';
import { DatasetPackager } from './packages/dataset.packager';
import { RecordInstaller } from './packages/record.installer';
import { RecordPacker } from './packages/record.packer';
import { RecordBulkService } from './records/record-bulk.service';
import { RecordEntity } from './records/record.entity';
import { RecordFromTracesService } from './records/record-from-traces.service';
import { RecordRepository } from './records/record.repository';
import { RecordWordsRepository } from './records/record-words.repository';
import { RecordWriteRepository } from './records/record-write.repository';
import { RecordService } from './records/record.service';
import { ImportSources } from './records/import/import-request';
import { RecordExportRepository } from './records/export/record-export.repository';
import { RecordExportService } from './records/export/record-export.service';
import { RecordImportService } from './records/import/record-import.service';
import { DatasetContent, DatasetReadingService } from './versions/dataset-reading.service';
import { DatasetVersionRepository } from './versions/dataset-version.repository';
import { DatasetVersionService } from './versions/dataset-version.service';

/** Datasets: their records, their versions, and the import and export of records. */
@Module({
  imports: [
    ComputationModule,
    ResourcesModule,
    TelemetryModule,
    TraceContentModule,
    TypeOrmModule.forFeature([DatasetEntity, RecordEntity]),
  ],
  providers: [
    DatasetContent,
    DatasetPackager,
    DatasetReadingService,
    DatasetRepository,
    DatasetSchemas,
    DatasetService,
    DatasetVersionRepository,
    DatasetVersionService,
    ImportSources,
    RecordBulkService,
    RecordExportRepository,
    RecordExportService,
    RecordFromTracesService,
    RecordImportService,
    RecordInstaller,
    RecordPacker,
    RecordRepository,
    RecordService,
    RecordWordsRepository,
    RecordWriteRepository,
  ],
  exports: [
    DatasetContent,
    DatasetReadingService,
    DatasetRepository,
    DatasetService,
    DatasetVersionRepository,
    DatasetVersionService,
    RecordBulkService,
    RecordExportService,
    RecordFromTracesService,
    RecordImportService,
    RecordRepository,
    RecordService,
    RecordWordsRepository,
  ],
})
export class DatasetsModule {}
