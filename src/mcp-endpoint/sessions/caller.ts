import type { Member } from '#platform/auth';

/** Who calls the endpoint, with the request. */
export interface Caller {
  readonly principal: Member;
  readonly requestId: string;
  /** The workspace of `X-Service-Workspace-Id`, which the caller has access to. */
  readonly workspaceId: string | undefined;
  /** Aborted when nobody waits for the response any more. */
  readonly signal: AbortSignal;
}
