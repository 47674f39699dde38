export { type Counter, type Gauge, type Histogram, Metrics } from './metrics';
export { MetricsModule } from './metrics.module';
export type { MetricsSource } from './metrics-sources';
