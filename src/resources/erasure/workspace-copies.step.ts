import type { Tx } from '#platform/db';
import type { ErasureBatch, ErasureRun, ErasureStep } from './erasure-steps';

/** Rows of a workspace that are short-lived copies. */
export interface WorkspaceCopies {
  countIn(tx: Tx, workspaceId: string): Promise<number>;
  deleteIn(tx: Tx, workspaceId: string, limit: number): Promise<number>;
}

/** Erases all copies of one kind in a workspace, because any of them may repeat what an erased user has written. */
export abstract class WorkspaceCopiesStep implements ErasureStep {
  abstract readonly name: string;
  /** What the copies are in the counts. */
  protected abstract readonly kind: string;
  /** Copies that one transaction deletes. */
  protected abstract readonly limit: number;
  readonly subjects = ['end_user', 'session'] as const;
  readonly phase = 'copies';

  protected constructor(private readonly copies: WorkspaceCopies) {}

  async run(tx: Tx, { workspaceId, isDryRun }: ErasureRun): Promise<ErasureBatch> {
    const { kind, limit, copies } = this;
    if (isDryRun) return { counts: { [kind]: await copies.countIn(tx, workspaceId) }, next: null };
    const deleted = await copies.deleteIn(tx, workspaceId, limit);
    return { counts: { [kind]: deleted }, next: deleted < limit ? null : 'more' };
  }
}
