import { setTimeout as delay } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { type LiveProcess, LiveProcessRepository } from '#platform/heartbeat';
import { retry } from '#platform/concurrency';
import { isLockTimeout } from '#platform/problem';
import { StartError } from '#platform/process';
import {
  InstallationSecretRepository,
  KeyRing,
  SealedSecretError,
  type SealedColumn,
  sealInstallationSecretWith,
  SecretBox,
} from '#platform/secrets';
import { type ResealedSecret, SealedSecretRepository } from './sealed-secret.repository';

/** Secrets per statement. Limits its memory, and how long it locks their rows. */
const BATCH = 500;
const POLL_MS = 500;
/** A transaction that has stored a secret locks its key until it ends. */
const LOCK_RETRY = { attempts: 6, isRetryable: isLockTimeout, firstDelayMs: 0 };
/** Interval at which a wait for other processes is reported. */
const REPORT_MS = 10_000;
/** Number of ids that an error names. */
const NAMED_MAX = 5;

/** What a rotation did with one column. */
export interface RotatedColumn {
  table: string;
  column: string;
  /** Secrets in the column. */
  total: number;
  /** Secrets that this rotation has re-encrypted. */
  reencrypted: number;
  /** Secrets that are still encrypted with another key. */
  left: number;
}

export interface RotationOptions {
  /** The columns with sealed secrets. */
  columns: readonly SealedColumn[];
  /** No other process uses the database, so there is none to wait for. */
  isOnlyProcess?: boolean;
  /** Called when a column is done. A column that receives another secret under an old key meanwhile is done again. */
  onColumn?: (column: RotatedColumn) => void;
  /** Called every 10 s with the processes that still seal with another key. */
  onWait?: (processes: readonly LiveProcess[]) => void;
}

/**
 * Makes the newest key of the ring the one that seals, re-encrypts all stored secrets with it, and takes the other keys out of
 * use. Other processes keep running. A rotation that was interrupted is continued by the next one.
 */
@Injectable()
export class KeyRotation {
  constructor(
    private readonly ring: KeyRing,
    private readonly box: SecretBox,
    private readonly installation: InstallationSecretRepository,
    private readonly secrets: SealedSecretRepository,
    private readonly processes: LiveProcessRepository,
  ) {}

  /** Tells whether the newest key is not yet the only one in use. */
  async isDue(): Promise<boolean> {
    const { key_ids } = await this.installation.find();
    return key_ids.some((id) => id !== this.newest);
  }

  /**
   * @returns the id of the newest key, which is then the only one in use
   * @throws StartError if another rotation runs, if a process does not hold the newest key, or if a secret cannot be opened
   */
  async run(options: RotationOptions): Promise<string> {
    const key = await this.secrets.whileLocked(() => this.rotate(options));
    if (key === null) throw new StartError('Another rotation is running; wait for its end.');
    return key;
  }

  private get newest(): string {
    return this.ring.ids[0]!;
  }

  private async rotate({ columns, isOnlyProcess, onColumn, onWait }: RotationOptions): Promise<string> {
    const { newest } = this;
    if (!isOnlyProcess) await this.checkProcesses();
    await sealInstallationSecretWith(newest, this.installation, this.ring, this.box);
    if (!isOnlyProcess) await this.waitForProcesses(onWait);
    for (;;) {
      for (const column of columns) await this.reencrypt(column, onColumn);
      const inUse = await retry(() => this.installation.retireAllBut(newest), LOCK_RETRY);
      if (inUse === null) return newest;
      // a request has stored a secret that it sealed before its process took the newest key
      if (!columns.some(({ table }) => table === inUse))
        throw new Error(`A key is in use by secrets of ${inUse}, whose column is not declared.`);
    }
  }

  private async checkProcesses(): Promise<void> {
    const { newest } = this;
    const without = (await this.processes.list()).filter(
      ({ secrets_keys }) => !secrets_keys.includes(newest),
    );
    if (without.length === 0) return;
    throw new StartError(
      `The key ${newest} is not in SECRETS_KEYS of ${without.map(nameOf).join(', ')}; add it there first, restart these processes, and run rotate-secrets again.`,
    );
  }

  /** Waits until every process seals with the newest key. A process takes it with its next heartbeat. */
  private async waitForProcesses(onWait: RotationOptions['onWait']): Promise<void> {
    for (let reportAt = performance.now() + REPORT_MS; ; await delay(POLL_MS)) {
      const others = (await this.processes.list()).filter(({ sealing_key }) => sealing_key !== this.newest);
      if (others.length === 0) return;
      if (performance.now() < reportAt) continue;
      onWait?.(others);
      reportAt += REPORT_MS;
    }
  }

  private async reencrypt(column: SealedColumn, onColumn: RotationOptions['onColumn']): Promise<number> {
    const unopened: string[] = [];
    let reencrypted = 0;
    for (const keyId of (await this.installation.find()).key_ids) {
      if (keyId === this.newest) continue;
      for (let after = ''; ;) {
        const batch = await this.secrets.find(column, keyId, after, BATCH);
        const resealed = batch.flatMap(({ id, sealed }): ResealedSecret[] => {
          const secret = this.opened(sealed, column, id);
          if (secret === null) unopened.push(id);
          return secret === null ? [] : [{ id, sealed, resealed: this.box.seal(secret, column.of(id)) }];
        });
        if (resealed.length > 0)
          reencrypted += await retry(() => this.secrets.replace(column, resealed), LOCK_RETRY);
        if (batch.length < BATCH) break;
        after = batch.at(-1)!.id;
      }
    }
    const { table, column: name } = column;
    onColumn?.({ table, column: name, reencrypted, ...(await this.secrets.count(column, this.newest)) });
    if (unopened.length === 0) return reencrypted;
    const named = unopened.slice(0, NAMED_MAX).join(', ') + (unopened.length > NAMED_MAX ? ', …' : '');
    throw new StartError(
      `${table}.${name} has ${unopened.length} altered secrets that cannot be decrypted (${named}); set them again or archive their resources, and run rotate-secrets again.`,
    );
  }

  private opened(sealed: string, column: SealedColumn, id: string): string | null {
    try {
      return this.box.open(sealed, column.of(id));
    } catch (error) {
      if (error instanceof SealedSecretError) return null;
      throw error;
    }
  }
}

const nameOf = ({ kind, host, pid }: LiveProcess): string => `${kind} on ${host} (process ${pid})`;
