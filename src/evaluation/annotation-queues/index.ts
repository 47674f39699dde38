export { AnnotationQueuesModule } from './annotation-queues.module';
export { TraceItemRepository } from './trace-item.repository';
