import { Injectable } from '@nestjs/common';
import type { Tx } from '#platform/db';
import { type ErasureBatch, type ErasureRun, type ErasureStep, ErasureSteps } from './erasure-steps';
import { type TenantColumn, TenantTables } from './tenant-tables.repository';

/** Erases what is left of a workspace or an organization, table by table. Counts rows by their table. */
@Injectable()
export class TenantTablesStep implements ErasureStep {
  readonly name = 'tables';
  readonly subjects = ['workspace', 'org'] as const;
  readonly phase = 'tables';

  constructor(
    steps: ErasureSteps,
    private readonly tables: TenantTables,
  ) {
    steps.add(this);
  }

  async run(tx: Tx, { subject, id, isDryRun }: ErasureRun, cursor: string | null): Promise<ErasureBatch> {
    const column: TenantColumn = subject === 'org' ? 'org_id' : 'workspace_id';
    const names = await this.tables.names(column);
    const index = Math.max(names.indexOf(cursor ?? ''), 0);
    const name = names[index]!;
    const kind = name.replace(/_\d{8}$/, ''); // a partition counts as its table
    const following = names[index + 1] ?? null;
    if (isDryRun)
      return { counts: { [kind]: await this.tables.count(tx, name, column, id) }, next: following };
    const deleted = await this.tables.delete(tx, name, column, id);
    return { counts: { [kind]: deleted }, next: deleted > 0 ? name : following };
  }
}
