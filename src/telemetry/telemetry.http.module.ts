import { type MiddlewareConsumer, Module, type NestModule } from '@nestjs/common';
import { ResourcesModule } from '../resources';
import { TraceDeletionsController } from './traces/delete/trace-deletions.controller';
import { TraceDeletionsService } from './traces/delete/trace-deletions.service';
import { TraceExistenceController } from './traces/exists/trace-existence.controller';
import { LogController } from './logs/log.controller';
import { MetricController } from './metrics/metric.controller';
import { otlpProblems } from './otlp-http/otlp-problem.middleware';
import { SessionController } from './sessions/session.controller';
import { SpanStatsController } from './spans/stats/span-stats.controller';
import { TraceStatsController } from './traces/stats/trace-stats.controller';
import { TelemetryModule } from './telemetry.module';
import { SpanController } from './traces/span.controller';
import { TraceController } from './traces/trace.controller';

/** The routes under /telemetry/v1. */
@Module({
  imports: [ResourcesModule, TelemetryModule],
  providers: [TraceDeletionsService],
  controllers: [
    TraceDeletionsController,
    TraceExistenceController,
    TraceStatsController,
    SpanStatsController,
    TraceController,
    SpanController,
    SessionController,
    LogController,
    MetricController,
  ],
})
export class TelemetryHttpModule implements NestModule {
  configure(consumer: MiddlewareConsumer): void {
    consumer.apply(otlpProblems).forRoutes('telemetry/v1/*path');
  }
}
