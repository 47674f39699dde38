export { AnnotationModule } from './annotation.module';
