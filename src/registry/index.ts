export { bootstrap, type Bootstrapped, type BootstrapOptions } from './bootstrap';
export { RegistryHttpModule } from './registry.http.module';
export { RegistryModule } from './registry.module';
export { LiveWorkspaceModule } from './workspaces/live-workspace.module';
export { LiveWorkspaceRepository } from './workspaces/live-workspace.repository';
