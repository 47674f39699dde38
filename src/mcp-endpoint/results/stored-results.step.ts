import { Injectable } from '@nestjs/common';
import type { Tx } from '#platform/db';
import { type ErasureBatch, type ErasureRun, type ErasureStep, ErasureSteps } from '../../resources';
import { StoredResultRepository } from './stored-result.repository';

/** Results that one transaction deletes. Each may have some MiB. */
const BATCH = 100;

/** Erases the stored results of a workspace, because any of them may repeat what an erased user has written. */
@Injectable()
export class StoredResultsStep implements ErasureStep {
  readonly name = 'stored MCP results';
  readonly subjects = ['end_user', 'session'] as const;
  readonly phase = 'copies';

  constructor(
    steps: ErasureSteps,
    private readonly results: StoredResultRepository,
  ) {
    steps.add(this);
  }

  async run(tx: Tx, { workspaceId, isDryRun }: ErasureRun): Promise<ErasureBatch> {
    if (isDryRun)
      return { counts: { mcp_stored_results: await this.results.countIn(tx, workspaceId) }, next: null };
    const deleted = await this.results.deleteIn(tx, workspaceId, BATCH);
    return { counts: { mcp_stored_results: deleted }, next: deleted < BATCH ? null : 'more' };
  }
}
