import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import {
  Inject,
  Injectable,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
  type OnModuleDestroy,
} from '@nestjs/common';
import { HEALTH, runAs } from '#platform/concurrency';
import { rootLogger } from '#platform/logging';
import { endWith, StartError } from '#platform/process';
import { compareReleases, RELEASE, unsupportedRelease } from '#platform/release';
import { KeyRing } from '#platform/secrets';
import { LiveProcessRepository, type ProcessKind } from './live-process.repository';

export const PROCESS_KIND = 'heartbeat:process-kind';

/** Time from the end of one heartbeat to the start of the next, in milliseconds. */
const INTERVAL_MS = 5_000;

/**
 * Records in the database that this process runs, with which release, and which keys it holds, until it stops. Each heartbeat
 * also tells the process which key seals secrets.
 */
@Injectable()
export class Heartbeat implements OnApplicationBootstrap, OnModuleDestroy, OnApplicationShutdown {
  readonly processId = randomUUID();
  private timer: NodeJS.Timeout | undefined;
  private beating: Promise<void> = Promise.resolve();
  private isStopping = false;
  private isStopped = false;

  constructor(
    private readonly processes: LiveProcessRepository,
    private readonly ring: KeyRing,
    @Inject(PROCESS_KIND) private readonly kind: ProcessKind,
  ) {}

  /**
   * Records the process, and then checks that the database supports its release. In this order, a migration that ends the
   * support either sees the process or is seen by it.
   *
   * @throws StartError if the release is too old, or if a key came into use after this process read its keys, which do not
   *   include it
   */
  async onApplicationBootstrap(): Promise<void> {
    await this.beatAndSchedule();
    checkRelease(await this.processes.supportedReleases());
  }

  /** From here on, running requests and jobs end. They keep the process alive. */
  onModuleDestroy(): void {
    this.isStopping = true;
  }

  async onApplicationShutdown(): Promise<void> {
    this.isStopped = true;
    clearTimeout(this.timer);
    await this.beating;
    await this.processes.delete(this.processId).catch(() => undefined); // it counts as running for another 30 s
  }

  /**
   * Records one heartbeat.
   *
   * @throws StartError if the process does not hold the key that seals secrets, or if the database no longer supports its
   *   release, which happens to a process that had no heartbeats for so long that a migration took it for ended
   */
  async beat(): Promise<void> {
    const { sealing_key, ...releases } = await this.processes.beat({
      process_id: this.processId,
      kind: this.kind,
      release: RELEASE,
      host: hostname(),
      pid: process.pid,
      secrets_keys: this.ring.ids,
      sealing_key: this.ring.sealingId,
    });
    checkRelease(releases);
    this.ring.sealWith(sealing_key);
  }

  private async beatAndSchedule(): Promise<void> {
    const beating = runAs(HEALTH, () => this.beat());
    this.beating = beating.catch(() => undefined);
    try {
      await beating;
    } catch (error) {
      if (error instanceof StartError && !this.isStopping) throw error;
      rootLogger.warn({ err: error }, 'a heartbeat failed');
    }
    if (this.isStopped) return;
    // a process without the key cannot open new secrets; its next start says why
    this.timer = setTimeout(() => void this.beatAndSchedule().catch(endWith), INTERVAL_MS).unref();
  }
}

/** @throws StartError if the release of this process is too old */
function checkRelease({ oldest, newest }: { oldest: string; newest: string }): void {
  if (compareReleases(RELEASE, oldest) < 0) {
    throw new StartError(unsupportedRelease(RELEASE, oldest, newest));
  }
}
