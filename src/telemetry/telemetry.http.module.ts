import { type MiddlewareConsumer, Module, type NestModule } from '@nestjs/common';
import { otlpProblems } from './otlp-http/otlp-problem.middleware';
import { SessionController } from './sessions/session.controller';
import { TelemetryModule } from './telemetry.module';
import { SpanController } from './traces/span.controller';
import { TraceController } from './traces/trace.controller';
import { TraceExportController } from './traces/trace-export.controller';

/** The routes under /telemetry/v1. */
@Module({
  imports: [TelemetryModule],
  controllers: [TraceExportController, TraceController, SpanController, SessionController],
})
export class TelemetryHttpModule implements NestModule {
  configure(consumer: MiddlewareConsumer): void {
    consumer.apply(otlpProblems).forRoutes('telemetry/v1/*path');
  }
}
