import { Injectable } from '@nestjs/common';
import { sql, timeToMicroseconds, type Tx } from '#platform/db';
import { ErasureItems, type ErasureRun } from '../../resources';

/** What had arrived when an erasure began. */
export interface Arrival {
  /** Microseconds since 1970. */
  us: string;
  /** The highest numbers of the records that are stored. */
  log_records: string;
  metric_points: string;
}

/**
 * Remembers what had arrived when an erasure began. The time of a log record or a data point is that of its client, whose clock
 * may be ahead, so it does not show that the record is newer than the erasure.
 */
@Injectable()
export class ArrivalRepository {
  constructor(private readonly items: ErasureItems) {}

  async remember(tx: Tx, erasure: ErasureRun): Promise<void> {
    await this.items.add(
      tx,
      erasure,
      'arrival',
      sql`SELECT concat_ws(' ', ${timeToMicroseconds(sql`clock_timestamp()`)}, (SELECT last_value FROM log_numbers),
        (SELECT last_value FROM metric_numbers)) AS id`,
    );
  }

  async find(tx: Tx, erasure: ErasureRun): Promise<Arrival> {
    const [item = '0 0 0'] = await this.items.list(tx, erasure, 'arrival', null, 1);
    const [us, log_records, metric_points] = item.split(' ') as [string, string, string];
    return { us, log_records, metric_points };
  }
}
