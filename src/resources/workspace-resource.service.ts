import type { Scope } from '#platform/auth';
import type { Tx, WorkspaceScopedRepository, WorkspaceRow } from '#platform/db';
import type { Versioned } from '#platform/http';
import type { ResourceKind, ResourceRow, ResourceRows } from './resource-kind';
import { type CreateBody, type ResourceKit, ResourceService } from './resource.service';
import { checkWorkspaceOfCreate } from './workspace-body';

/** Base for resources of routes that require the workspace header. The admission has checked the role. */
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

  protected override findForCreate(scope: Scope, body: CreateBody<Row>): Promise<Row | null> {
    checkWorkspaceOfCreate(scope, body.workspace_id);
    return super.findForCreate(scope, body);
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
}
