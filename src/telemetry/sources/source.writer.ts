import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import type { Tx } from '#platform/db';
import { sourceKey, type WorkspaceSource } from './source-record';
import { SourceRepository } from './source.repository';

/** Sources that a process remembers to have stored. */
const REMEMBERED = 10_000;

/** Keeps the sources that what is stored comes from. */
@Injectable()
export class SourceWriter {
  /** The day on which a source was last told to be used. */
  private readonly told = new LRUCache<string, string>({ max: REMEMBERED });

  constructor(private readonly sources: SourceRepository) {}

  /** Stores those that are not there, and that all were used today; what this process has told today is known. */
  async keep(tx: Tx, sources: readonly WorkspaceSource[]): Promise<void> {
    const today = new Date().toISOString().slice(0, 10);
    const untold = sources.filter(
      ({ workspaceId, id }) => this.told.get(sourceKey(workspaceId, id)) !== today,
    );
    await this.sources.keepMany(tx, untold);
    tx.afterCommit(() => {
      for (const { workspaceId, id } of untold) this.told.set(sourceKey(workspaceId, id), today);
    });
  }
}
