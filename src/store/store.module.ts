import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { StorageModule } from '#platform/storage';
import { RegistryModule } from '../registry';
import { ResourcesModule } from '../resources';
import { AcquisitionEntity } from './acquisitions/acquisition.entity';
import { AcquisitionRepository } from './acquisitions/acquisition.repository';
import { AcquisitionService } from './acquisitions/acquisition.service';
import { PackageInstaller } from './acquisitions/package-installer';
import { CatalogueRepository } from './items/catalogue.repository';
import { CatalogueService } from './items/catalogue.service';
import { ListingRepository } from './items/listing.repository';
import { StoreItemEntity } from './items/store-item.entity';
import { StoreItemRepository } from './items/store-item.repository';
import { StoreItemService } from './items/store-item.service';
import { PackageBuilder } from './publisher/package-builder';
import { Pinning } from './publisher/pinning';
import { PublishingService } from './publisher/publishing.service';

/** The store, without routes: for the API and the worker. */
@Module({
  imports: [
    TypeOrmModule.forFeature([StoreItemEntity, AcquisitionEntity]),
    RegistryModule,
    ResourcesModule,
    StorageModule,
  ],
  providers: [
    AcquisitionRepository,
    AcquisitionService,
    CatalogueRepository,
    CatalogueService,
    ListingRepository,
    PackageBuilder,
    PackageInstaller,
    Pinning,
    PublishingService,
    StoreItemRepository,
    StoreItemService,
  ],
  exports: [AcquisitionService, CatalogueService, PublishingService, StoreItemService],
})
export class StoreModule {}
