import { Injectable } from '@nestjs/common';
import { DiscoveryService } from '@nestjs/core';
import type { JobKind } from './job-kind';

/** Says that a module orders jobs of a kind; provided by `JobsModule.register`. */
export class DeclaredJob {
  constructor(readonly kind: JobKind) {}
}

/** The kinds of jobs that the modules of this process order. */
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
