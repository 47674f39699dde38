import type { Scope } from '#platform/auth';
import { problem } from '#platform/problem';

/** A create body names its workspace, and it is the header's: 400 otherwise. */
export function checkWorkspaceOfCreate(scope: Scope, workspaceId: string): void {
  if (workspaceId !== scope.workspaceId) {
    throw problem.invalidFields([
      { pointer: '/workspace_id', detail: 'must be the workspace that X-Service-Workspace-Id names' },
    ]);
  }
}

/** A body that selects may name its workspace: 400 where it is not the header's. */
export function checkWorkspaceOfSearch(scope: Scope, workspaceId: string | undefined): void {
  if (workspaceId !== undefined) checkWorkspaceOfCreate(scope, workspaceId);
}
