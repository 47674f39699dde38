import { type MiddlewareConsumer, Module, type NestModule } from '@nestjs/common';
import { LogExportController } from './logs/log-export.controller';
import { LogController } from './logs/log.controller';
import { MetricController } from './metrics/metric.controller';
import { MetricExportController } from './metrics/metric-export.controller';
import { otlpProblems } from './otlp-http/otlp-problem.middleware';
import { SessionController } from './sessions/session.controller';
import { TelemetryModule } from './telemetry.module';
import { SpanController } from './traces/span.controller';
import { TraceController } from './traces/trace.controller';
import { TraceExportController } from './traces/trace-export.controller';

/** The routes under /telemetry/v1. */
@Module({
  imports: [TelemetryModule],
  controllers: [
    TraceExportController,
    TraceController,
    SpanController,
    SessionController,
    LogExportController,
    LogController,
    MetricExportController,
    MetricController,
  ],
})
export class TelemetryHttpModule implements NestModule {
  configure(consumer: MiddlewareConsumer): void {
    consumer.apply(otlpProblems).forRoutes('telemetry/v1/*path');
  }
}
