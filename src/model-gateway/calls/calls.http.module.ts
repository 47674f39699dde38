import { type MiddlewareConsumer, Module, type NestModule } from '@nestjs/common';
import { HttpModule } from '#platform/http';
import { ModelGatewayModule } from '../model-gateway.module';
import { CallsModule } from './calls.module';
import { gatewayProblems } from './gateway-problems.middleware';
import { GatewayEndpoint } from './gateway.endpoint';
import { GatewayService } from './gateway.service';

/** The endpoint that calls models, and the format of problems for all paths below `/model/v1`. */
@Module({
  imports: [CallsModule, HttpModule, ModelGatewayModule],
  providers: [GatewayEndpoint, GatewayService],
})
export class CallsHttpModule implements NestModule {
  configure(consumer: MiddlewareConsumer): void {
    consumer.apply(gatewayProblems).forRoutes('model/v1/*path');
  }
}
