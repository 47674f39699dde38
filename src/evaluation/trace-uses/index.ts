export { TraceUsesModule } from './trace-uses.module';
