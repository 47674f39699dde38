import { Module } from '@nestjs/common';
import { AcquisitionController } from './acquiring/acquisition.controller';
import { StoreItemController } from './catalogue/store-item.controller';
import { PublisherItemController } from './publishing/publisher-item.controller';
import { StoreModule } from './store.module';

/** The routes under /store/v1. */
@Module({
  imports: [StoreModule],
  controllers: [PublisherItemController, StoreItemController, AcquisitionController],
})
export class StoreHttpModule {}
