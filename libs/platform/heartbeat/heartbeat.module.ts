import { type DynamicModule, Module } from '@nestjs/common';
import { SecretsModule } from '#platform/secrets';
import { Heartbeat, PROCESS_KIND } from './heartbeat';
import { LiveProcessRepository, type ProcessKind } from './live-process.repository';

/**
 * Records that the process runs. Not global, because global modules shut down in the reverse order of their depth, so that the
 * database would be closed before the heartbeat can delete its row.
 */
@Module({})
export class HeartbeatModule {
  static forRoot(kind: ProcessKind): DynamicModule {
    return {
      module: HeartbeatModule,
      imports: [SecretsModule],
      providers: [Heartbeat, LiveProcessRepository, { provide: PROCESS_KIND, useValue: kind }],
    };
  }
}
