export { CatalogueService } from './items/catalogue.service';
export { StoreHttpModule } from './store.http.module';
export { StoreModule } from './store.module';
export { StoreWorkerModule } from './store.worker.module';
export { type CatalogueItemDto, StoreItemListQueryDto } from './items/catalogue.dto';
export { CATEGORIES } from './items/store-item.entity';
