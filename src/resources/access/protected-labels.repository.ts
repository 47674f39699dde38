import { Injectable } from '@nestjs/common';
import type { OrgScope } from '#platform/auth';
import { firstRow, sql, type Tx } from '#platform/db';

/** Reads which labels of versions only admins may change. */
@Injectable()
export class ProtectedLabels {
  async includes(tx: Tx, scope: OrgScope, label: string): Promise<boolean> {
    const statement = sql`SELECT ${label} = ANY (protected_labels) AS protected FROM organizations
      WHERE org_id = ${scope.orgId}`;
    const row = await firstRow<{ protected: boolean }>(tx, 'protected-labels.includes', statement);
    return row?.protected === true;
  }
}
