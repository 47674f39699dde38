import type { Scope } from '#platform/auth';
import type { Tx, WorkspaceScopedRepository, WorkspaceRow } from '#platform/db';
import type { Versioned } from '#platform/http';
import { orNotFound } from '#platform/problem';
import type { ResourceKind, ResourceRow, ResourceRows } from './resource-kind';
import { type ResourceKit, ResourceService } from './resource.service';
import { checkWorkspaceOfCreate } from './workspace-body';

/** Base for resources of routes that require the workspace header. The guards have checked the role. */
export abstract class WorkspaceResourceService<
  Row extends ResourceRow & WorkspaceRow,
  View,
> extends ResourceService<Scope, Row, View> {
  protected constructor(
    kit: ResourceKit,
    rows: WorkspaceScopedRepository<Row>,
    kind: ResourceKind<Row, View>,
  ) {
    super(kit, rows as unknown as ResourceRows<Scope, Row>, kind);
  }

  /** Creates a resource. Throws 400 if the body and the header name different workspaces, and the errors of `newRow`. */
  protected createIn(
    scope: Scope,
    workspaceId: string,
    newRow: (tx: Tx) => Row | Promise<Row>,
  ): Promise<Versioned<View>> {
    checkWorkspaceOfCreate(scope, workspaceId);
    return this.transaction(scope, async (tx) =>
      this.versioned(await this.insert(tx, scope, await newRow(tx))),
    );
  }

  protected admit(_tx: Tx, scope: Scope, row: Row | null, id: string): Promise<Row> {
    return Promise.resolve(this.readable(scope, row, id));
  }

  protected readable(_scope: Scope, row: Row | null, id: string): Row {
    return orNotFound(row, this.kind.noun, id);
  }
}
