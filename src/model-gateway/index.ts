export { BudgetDirectory } from './budgets/budget-directory';
export { KeyDirectory, type KeyLimits } from './keys/key-directory';
export { ModelGatewayModule } from './model-gateway.module';
export {
  type CalledModel,
  type CalledProvider,
  type CalledTarget,
  ModelDirectory,
} from './models/model-directory';
