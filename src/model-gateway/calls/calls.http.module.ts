import { type MiddlewareConsumer, Module, type NestModule } from '@nestjs/common';
import { ModelGatewayModule } from '../model-gateway.module';
import { CallLimits } from './call-limits';
import { CallsModule } from './calls.module';
import { acceptApiKey, gatewayProblems } from './gateway-problems.middleware';
import { GatewayController } from './gateway.controller';
import { GatewayService } from './gateway.service';

/** The routes that call models. */
@Module({
  imports: [CallsModule, ModelGatewayModule],
  controllers: [GatewayController],
  providers: [CallLimits, GatewayService],
})
export class CallsHttpModule implements NestModule {
  configure(consumer: MiddlewareConsumer): void {
    consumer.apply(gatewayProblems).forRoutes('model/v1/*path');
    consumer.apply(acceptApiKey).forRoutes('model/v1/messages');
  }
}
