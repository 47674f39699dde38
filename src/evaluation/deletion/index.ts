export { DeletionModule } from './deletion.module';
export { DeletionWorkerModule } from './deletion.worker.module';
