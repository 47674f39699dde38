import type { Scope } from '#platform/auth';
import { problem } from '#platform/problem';

/** Throws 400 unless the `workspace_id` of a create is the workspace of the header. */
export function checkWorkspaceOfCreate(scope: Scope, workspaceId: string): void {
  if (workspaceId !== scope.workspaceId) {
    throw problem.invalidField('/workspace_id', 'must be the workspace that X-Service-Workspace-Id names');
  }
}

/** Throws 400 if the `workspace_id` of a search is not the workspace of the header. */
export function checkWorkspaceOfSearch(scope: Scope, workspaceId: string | undefined): void {
  if (workspaceId !== undefined) checkWorkspaceOfCreate(scope, workspaceId);
}
