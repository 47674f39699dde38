export type { Recorded } from './calls/call.types';
export { BudgetRepository } from './budgets/budget.repository';
export { KeyLimitsRepository } from './keys/key-limits.repository';
export { CallFailure } from './calls/call-failure';
export { GatewayEmbeddingsModule } from './model-gateway.embeddings.module';
export { CALL_OPERATIONS } from './calls/calls.openapi';
export { CALL_PATHS, GatewayEndpoint } from './calls/gateway.endpoint';
export { type InstalledModel, InstalledModels } from './calls/installed-models';
export {
  GATEWAY_PREFIX,
  type InternalAnswer,
  type InternalCall,
  InternalCalls,
  type RequestObserver,
  type RetriedWork,
} from './calls/internal-calls';
export { LearnedLimits } from './calls/learned-limit';
export { contentTextOf, firstChoiceOf } from './formats/chat-outcome';
export { nameOf, objectOf } from './formats/json-shape';
export type { ReportedError } from './formats/reported-error';
export { usageOfChat } from './formats/usage';
export { ModelGatewayWorkerModule } from './model-gateway.worker.module';
export { ModelGatewayHttpModule } from './model-gateway.http.module';
export { ModelGatewayModule } from './model-gateway.module';
export { type CalledModel, type CalledProvider, ModelDirectory } from './models/model-directory';
export { PROVIDER_SECRET } from './providers/provider.entity';
