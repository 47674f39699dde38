import { type MiddlewareConsumer, Module, type NestModule } from '@nestjs/common';
import { HttpModule } from '#platform/http';
import { ModelBudgetController } from './budgets/budget.controller';
import { gatewayProblems } from './calls/gateway-problems.middleware';
import { GatewayEndpoint } from './calls/gateway.endpoint';
import { GatewayService } from './calls/gateway.service';
import { GatewayKeyController } from './keys/gateway-key.controller';
import { ModelGatewayModule } from './model-gateway.module';
import { ModelController } from './models/model.controller';
import { ModelProviderController } from './providers/provider.controller';
import { ModelUsageController } from './usage/usage.controller';

/** The routes under /model/v1, and the format of their problems. */
@Module({
  imports: [HttpModule, ModelGatewayModule],
  controllers: [
    ModelProviderController,
    ModelController,
    GatewayKeyController,
    ModelBudgetController,
    ModelUsageController,
  ],
  providers: [GatewayEndpoint, GatewayService],
})
export class ModelGatewayHttpModule implements NestModule {
  configure(consumer: MiddlewareConsumer): void {
    consumer.apply(gatewayProblems).forRoutes('model/v1/*path');
  }
}
