import { Injectable } from '@nestjs/common';
import { DiscoveryService } from '@nestjs/core';
import type { JobKind } from './job-kind';

/** Marks a module as one that enqueues jobs of a kind. `JobsModule.register` provides it. */
export class DeclaredJob {
  constructor(readonly kind: JobKind) {}
}

/** The kinds of jobs that the modules of this process enqueue. */
@Injectable()
export class DeclaredJobs {
  constructor(private readonly discovery: DiscoveryService) {}

  all(): JobKind[] {
    const kinds = new Set<JobKind>();
    for (const { instance } of this.discovery.getProviders()) {
      if (instance instanceof DeclaredJob) kinds.add(instance.kind);
    }
    return [...kinds];
  }
}
