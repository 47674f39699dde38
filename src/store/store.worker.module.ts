import { Module } from '@nestjs/common';
import { StorageModule } from '#platform/storage';
import { ResourcesModule } from '../resources';
import { StoreItemRepository } from './items/store-item.repository';
import { StoreItemsStep } from './items/store-items.step';

/** The worker's part of the store: erases items. */
@Module({
  imports: [ResourcesModule, StorageModule],
  providers: [StoreItemRepository, StoreItemsStep],
})
export class StoreWorkerModule {}
