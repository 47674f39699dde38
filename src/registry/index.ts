export { bootstrap } from './bootstrap';
export { RegistryHttpModule } from './registry.http.module';
export { RegistryModule } from './registry.module';
export { RegistryWorkerModule } from './registry.worker.module';
export { OrgSigningService } from './signing-keys/org-signing.service';
