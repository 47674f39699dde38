import { Injectable, type OnModuleInit } from '@nestjs/common';
import { Metrics } from '#platform/metrics';
import { LiveProcessRepository } from './live-process.repository';

/** Metrics of the processes that use the database, in every process. */
@Injectable()
export class HeartbeatMetrics implements OnModuleInit {
  constructor(
    private readonly metrics: Metrics,
    private readonly processes: LiveProcessRepository,
  ) {}

  onModuleInit(): void {
    const workers = this.metrics.gauge('workers_alive', 'Workers that have sent a heartbeat within 30 s.');
    this.metrics.addSource({
      name: 'workers',
      gauges: [workers],
      read: async () => {
        const processes = await this.processes.list();
        return () => workers.set(processes.filter(({ kind }) => kind !== 'api').length);
      },
    });
  }
}
