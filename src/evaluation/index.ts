export { EvaluationHttpModule } from './evaluation.http.module';
export { EvaluationWorkerModule } from './evaluation.worker.module';
