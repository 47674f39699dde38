import { Module } from '@nestjs/common';
import { AcquisitionController } from './acquisitions/acquisition.controller';
import { StoreItemController } from './items/store-item.controller';
import { PublisherItemController } from './publisher/publisher-item.controller';
import { StoreModule } from './store.module';

/** The routes under /store/v1. */
@Module({
  imports: [StoreModule],
  controllers: [PublisherItemController, StoreItemController, AcquisitionController],
})
export class StoreHttpModule {}
