export { ConfigModule } from './config.module';
export { Environment, ENVIRONMENT_VARIABLES, readEnvironment } from './environment';
export { type IpAddress, type IpRange, isIn } from './variable';
