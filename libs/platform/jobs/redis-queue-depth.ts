import { Injectable } from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import { getQueueToken } from '@nestjs/bullmq';
import type { Queue } from 'bullmq';
import type { JobKind } from './job-kind';
import { ageOf, JOB_STATES, type JobState, type QueueDepth, QueueDepths } from './queue-depth';

/** Reads the depth of queues in Redis, which knows the length of each of its lists. */
@Injectable()
export class RedisQueueDepths extends QueueDepths {
  constructor(private readonly moduleRef: ModuleRef) {
    super();
  }

  read(kinds: readonly JobKind[]): Promise<QueueDepth[]> {
    return Promise.all(kinds.map((kind) => this.depthOf(kind)));
  }

  private async depthOf({ name }: JobKind): Promise<QueueDepth> {
    const queue = this.moduleRef.get<Queue>(getQueueToken(name), { strict: false });
    const [counts, [next]] = await Promise.all([queue.getJobCounts(...JOB_STATES), queue.getWaiting(0, 0)]);
    return {
      kind: name,
      jobs: Object.fromEntries(JOB_STATES.map((state) => [state, counts[state] ?? 0])) as Record<
        JobState,
        number
      >,
      oldestWaitingSeconds: ageOf(next?.timestamp),
    };
  }
}
