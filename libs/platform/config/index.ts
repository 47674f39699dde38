export { ConfigModule } from './config.module';
export { Environment, readEnvironment } from './environment';
