export { ConfigModule } from './config.module';
export { Environment, ENVIRONMENT_VARIABLES, readEnvironment } from './environment';
export type { IpRange } from './variable';
