import { Injectable } from '@nestjs/common';
import type { Tx } from '#platform/db';
import { type ErasureBatch, type ErasureRun, type ErasureStep, ErasureSteps } from './erasure-steps';
import { type TenantColumn, TenantTables } from './tenant-tables.repository';

/** Tables whose rows other steps erase and count. */
const COUNTED_BY_STEPS = new Set([
  'traces',
  'trace_models',
  'span_gaps',
  'results',
  'store_items',
  'store_releases',
  'gateway_keys',
]);

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

  /** @param cursor the table that the batch begins with. Tables without rows take no batch of their own */
  async run(tx: Tx, { subject, id, isDryRun }: ErasureRun, cursor: string | null): Promise<ErasureBatch> {
    const column: TenantColumn = subject === 'org' ? 'org_id' : 'workspace_id';
    const tables = await this.tables.tables(column, tx);
    const first = tables.findIndex(({ name }) => name === cursor);
    for (const table of tables.slice(Math.max(first, 0))) {
      if (isDryRun && COUNTED_BY_STEPS.has(table.name)) continue;
      const rows = isDryRun
        ? await this.tables.count(tx, table, column, id)
        : await this.tables.delete(tx, table, column, id);
      if (rows === 0) continue;
      const following = isDryRun ? tables[tables.indexOf(table) + 1] : table;
      // a partition counts as its table
      return { counts: { [table.name.replace(/_\d{8}$/, '')]: rows }, next: following?.name ?? null };
    }
    return { counts: {}, next: null };
  }
}
