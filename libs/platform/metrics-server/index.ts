export { MetricsServerModule } from './metrics-server.module';
