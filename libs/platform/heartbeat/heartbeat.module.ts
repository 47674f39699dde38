import { type DynamicModule, Module } from '@nestjs/common';
import { MetricsModule } from '#platform/metrics';
import { Heartbeat, PROCESS_KIND } from './heartbeat';
import { HeartbeatMetrics } from './heartbeat.metrics';
import { LiveProcessRepository, type ProcessKind } from './live-process.repository';

/**
 * Records that the process runs. Not global, because Nest stops global modules last and in no useful order: the database would
 * be closed before the heartbeat deletes its row.
 */
@Module({})
export class HeartbeatModule {
  static forRoot(kind: ProcessKind): DynamicModule {
    return {
      module: HeartbeatModule,
      imports: [MetricsModule],
      providers: [
        Heartbeat,
        HeartbeatMetrics,
        LiveProcessRepository,
        { provide: PROCESS_KIND, useValue: kind },
      ],
    };
  }
}
