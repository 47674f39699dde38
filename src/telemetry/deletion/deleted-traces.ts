import { Injectable } from '@nestjs/common';
import type { SqlExecutor } from '#platform/db';
import { TombstoneRepository } from './tombstone.repository';

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
    return new Set((await this.tombstones.findTraces(on, keys)).map(({ id }) => id));
  }
}
