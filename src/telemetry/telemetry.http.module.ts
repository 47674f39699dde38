import { type MiddlewareConsumer, Module, type NestModule } from '@nestjs/common';
import { otlpProblems } from './otlp-http/otlp-problem.middleware';
import { TelemetryModule } from './telemetry.module';
import { TraceExportController } from './traces/trace-export.controller';

/** The routes under /telemetry/v1. */
@Module({
  imports: [TelemetryModule],
  controllers: [TraceExportController],
})
export class TelemetryHttpModule implements NestModule {
  configure(consumer: MiddlewareConsumer): void {
    consumer.apply(otlpProblems).forRoutes('telemetry/v1/*path');
  }
}
