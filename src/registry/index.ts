export { bootstrap } from './bootstrap';
export { RegistryHttpModule } from './registry.http.module';
export { RegistryModule } from './registry.module';
export { RegistryWorkerModule } from './registry.worker.module';
