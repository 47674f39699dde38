import type { AccountChanges, OrgScope } from '#platform/auth';
import type { OrgScopedRepository, OrgRow, Tx } from '#platform/db';
import {
  type ResourceKind,
  type ResourceKit,
  type ResourceRow,
  type ResourceRows,
  ResourceService,
} from '../../resources';

/**
 * Resources that decide who may do what: organizations, users, workspaces and service accounts. They belong to no
 * workspace. Every change goes through `AccountChanges`, so that no process keeps authenticating from a stale cache.
 */
export abstract class AccountService<Row extends ResourceRow & OrgRow, View> extends ResourceService<
  OrgScope,
  Row,
  View
> {
  protected constructor(
    kit: ResourceKit,
    private readonly changes: AccountChanges,
    rows: OrgScopedRepository<Row>,
    kind: ResourceKind<Row, View>,
  ) {
    super(kit, rows as unknown as ResourceRows<OrgScope, Row>, kind);
  }

  protected override begin<Result>(scope: OrgScope, work: (tx: Tx) => Promise<Result>): Promise<Result> {
    return this.changes.run(scope.orgId, work);
  }
}
