import { availableParallelism } from 'node:os';
import { Injectable, Module } from '@nestjs/common';
import { WorkerPool } from './worker-pool';

/** Maximum number of threads that one organization uses. One more exists for the others. */
const SHARE = 1 + Math.min(4, Math.max(2, availableParallelism() - 1));
const WAITING_MAX = 256;
const HEAP_MIB = 1_024;

/** The worker threads of a process for everything but sandboxes: statistics, users' JSON Schemas, large exports in JSON. */
@Injectable()
export class ComputationPool extends WorkerPool {
  constructor() {
    super({
      threads: SHARE + 1,
      share: SHARE,
      maxWaiting: WAITING_MAX,
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MIB },
    });
  }
}

@Module({ providers: [ComputationPool], exports: [ComputationPool] })
export class ComputationModule {}
