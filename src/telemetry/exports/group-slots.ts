import { Injectable } from '@nestjs/common';
import { Environment } from '#platform/config';

/** The share of a process's connections that exports of all kinds are stored by. */
const SHARE = 1 / 4;

/**
 * How many groups are stored at once, of traces, logs and metrics together: the other connections are for those who read,
 * and for all other areas, however slow the database is and however much is exported. Whoever waits longest is next.
 */
@Injectable()
export class GroupSlots {
  readonly count: number;
  private taken = 0;
  private readonly waiting: (() => void)[] = [];

  constructor(environment: Environment) {
    this.count = Math.max(1, Math.floor(environment.DATABASE_POOL_SIZE * SHARE));
  }

  /** Does `work` once there is a slot for it. */
  async use(work: () => Promise<void>): Promise<void> {
    if (this.taken < this.count) this.taken++;
    else await new Promise<void>((resolve) => this.waiting.push(resolve));
    try {
      await work();
    } finally {
      const next = this.waiting.shift();
      if (next) next();
      else this.taken--;
    }
  }
}
