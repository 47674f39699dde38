export { CatalogueService } from './catalogue/catalogue.service';
export { StoreHttpModule } from './store.http.module';
export { StoreModule } from './store.module';
