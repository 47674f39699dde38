import { Injectable, type OnModuleInit } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Metrics } from '#platform/metrics';
import type { FairPool } from './fair-pool';

/** Metrics of the connections of this process to the database. */
@Injectable()
export class PoolMetrics implements OnModuleInit {
  constructor(
    private readonly dataSource: DataSource,
    private readonly metrics: Metrics,
  ) {}

  onModuleInit(): void {
    const size = this.metrics.gauge('pool_size', 'Database connections that this process may use.');
    const inUse = this.metrics.gauge('pool_in_use', 'Database connections that this process uses.');
    const waiting = this.metrics.gauge(
      'pool_waiting',
      'Work that waits for a database connection, or for the share of its organization.',
    );
    const { pool } = this;
    this.metrics.addSource({
      name: 'pool',
      isFirst: true,
      gauges: [size, inUse, waiting],
      read: () => {
        const { inUseCount, allWaitingCount } = pool;
        return Promise.resolve(() => {
          size.set(pool.options.max);
          inUse.set(inUseCount);
          waiting.set(allWaitingCount);
        });
      },
    });
  }

  private get pool(): FairPool {
    return (this.dataSource.driver as unknown as { master: FairPool }).master;
  }
}
