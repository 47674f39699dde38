export { BudgetDirectory } from './budgets/budget-directory';
export { KeyDirectory, type KeyLimits } from './keys/key-directory';
export { GatewayEmbeddingsModule } from './calls/embeddings.module';
export { CALL_OPERATIONS } from './calls/calls.openapi';
export { CALL_PATHS, GatewayEndpoint } from './calls/gateway.endpoint';
export { GATEWAY_PREFIX, InternalCalls } from './calls/internal-calls';
export { CallsModule } from './calls/calls.module';
export { ModelGatewayWorkerModule } from './model-gateway.worker.module';
export { ModelGatewayHttpModule } from './model-gateway.http.module';
export { ModelGatewayModule } from './model-gateway.module';
export {
  type CalledModel,
  type CalledProvider,
  type CalledTarget,
  ModelDirectory,
} from './models/model-directory';
