import { type DynamicModule, Global, Module } from '@nestjs/common';
import { MetricsModule } from '#platform/metrics';
import { SecretsModule } from '#platform/secrets';
import { Heartbeat, PROCESS_KIND } from './heartbeat';
import { HeartbeatMetrics } from './heartbeat.metrics';
import { LiveProcessRepository, type ProcessKind } from './live-process.repository';

/** Provides the list of running processes to all modules. */
@Global()
@Module({ providers: [LiveProcessRepository], exports: [LiveProcessRepository] })
class LiveProcessesModule {}

/**
 * Records that the process runs. It is not global, because Nest stops global modules last, and in no useful order: the database
 * would be closed before the process deletes its row.
 */
@Module({})
export class HeartbeatModule {
  static forRoot(kind: ProcessKind): DynamicModule {
    return {
      module: HeartbeatModule,
      imports: [LiveProcessesModule, MetricsModule, SecretsModule],
      providers: [Heartbeat, HeartbeatMetrics, { provide: PROCESS_KIND, useValue: kind }],
    };
  }
}
