import { randomUUID } from 'node:crypto';
import { Inject, Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { HEALTH, runAs } from '#platform/concurrency';
import { rootLogger } from '#platform/logging';
import { StartError } from '#platform/process';
import { compareReleases, RELEASE, unsupportedRelease } from '#platform/release';
import { LiveProcessRepository, type ProcessKind } from './live-process.repository';

export const PROCESS_KIND = 'heartbeat:process-kind';

/** Time from the end of one heartbeat to the start of the next, in milliseconds. */
const INTERVAL_MS = 5_000;

/** Records in the database that this process runs, and with which release, until it stops. */
@Injectable()
export class Heartbeat implements OnApplicationBootstrap, OnApplicationShutdown {
  readonly processId = randomUUID();
  private timer: NodeJS.Timeout | undefined;
  private beating: Promise<void> = Promise.resolve();
  private isStopped = false;

  constructor(
    private readonly processes: LiveProcessRepository,
    @Inject(PROCESS_KIND) private readonly kind: ProcessKind,
  ) {}

  /**
   * Records the process, and then checks that the database supports its release. In this order, a migration that ends the
   * support either sees the process or is seen by it.
   */
  async onApplicationBootstrap(): Promise<void> {
    await this.beat();
    const { oldest, newest } = await this.processes.supportedReleases();
    if (compareReleases(RELEASE, oldest) < 0)
      throw new StartError(unsupportedRelease(RELEASE, oldest, newest));
  }

  async onApplicationShutdown(): Promise<void> {
    this.isStopped = true;
    clearTimeout(this.timer);
    await this.beating;
    await this.processes.delete(this.processId).catch(() => undefined); // it counts as running for another 30 s
  }

  private async beat(): Promise<void> {
    const { processId: process_id, kind } = this;
    this.beating = runAs(HEALTH, () =>
      this.processes
        .beat({ process_id, kind, release: RELEASE })
        .catch((error: unknown) => rootLogger.warn({ err: error }, 'a heartbeat failed')),
    );
    await this.beating;
    if (!this.isStopped) this.timer = setTimeout(() => void this.beat(), INTERVAL_MS).unref();
  }
}
