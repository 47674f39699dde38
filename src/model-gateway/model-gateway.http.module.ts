import { Module } from '@nestjs/common';
import { ModelBudgetController } from './budgets/budget.controller';
import { CallsHttpModule } from './calls/calls.http.module';
import { GatewayKeyController } from './keys/gateway-key.controller';
import { ModelGatewayModule } from './model-gateway.module';
import { ModelController } from './models/model.controller';
import { ModelProviderController } from './providers/provider.controller';
import { ModelUsageController } from './usage/usage.controller';

/** The routes under /model/v1. */
@Module({
  imports: [CallsHttpModule, ModelGatewayModule],
  controllers: [
    ModelProviderController,
    ModelController,
    GatewayKeyController,
    ModelBudgetController,
    ModelUsageController,
  ],
})
export class ModelGatewayHttpModule {}
