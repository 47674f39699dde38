export { bootstrap, type Bootstrapped, type BootstrapOptions } from './bootstrap';
export { RegistryHttpModule } from './registry.http.module';
export { RegistryModule } from './registry.module';
export { WorkspaceAccess } from './workspaces/workspace-access.service';
