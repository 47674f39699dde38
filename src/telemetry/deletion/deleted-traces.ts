import { Injectable } from '@nestjs/common';
import type { SqlExecutor } from '#platform/db';
import { TombstoneRepository, type WorkspaceKey } from './tombstone.repository';

/** Tells which traces were deleted. */
@Injectable()
export class DeletedTraces {
  constructor(private readonly tombstones: TombstoneRepository) {}

  /** Returns the traces of a workspace that were deleted. */
  async find(
    on: SqlExecutor,
    workspaceId: string,
    traceIds: readonly string[],
  ): Promise<ReadonlySet<string>> {
    const keys = traceIds.map((id) => ({ workspaceId, id }));
    return new Set((await this.findAll(on, keys)).map(({ id }) => id));
  }

  /** Returns the traces of any workspaces that were deleted. */
  findAll<Key extends WorkspaceKey>(on: SqlExecutor, traces: readonly Key[]): Promise<Key[]> {
    return this.tombstones.findTraces(on, traces);
  }
}
