export { EvaluationHttpModule } from './evaluation.http.module';
export { EvaluationModule } from './evaluation.module';
export { EvaluationWorkerModule } from './evaluation.worker.module';
