import { type DynamicModule, Module } from '@nestjs/common';
import { Heartbeat, PROCESS_KIND } from './heartbeat';
import { LiveProcessRepository, type ProcessKind } from './live-process.repository';

/** Records that the process runs. Exports the list of running processes. */
@Module({})
export class HeartbeatModule {
  static forRoot(kind: ProcessKind): DynamicModule {
    return {
      module: HeartbeatModule,
      global: true,
      providers: [Heartbeat, LiveProcessRepository, { provide: PROCESS_KIND, useValue: kind }],
      exports: [LiveProcessRepository],
    };
  }
}
