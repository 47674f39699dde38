export { AnnotationQueuesModule } from './annotation-queues.module';
