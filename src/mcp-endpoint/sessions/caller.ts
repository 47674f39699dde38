import type { Member } from '#platform/auth';

/** The caller of the endpoint, and the context of the request. */
export interface Caller {
  readonly principal: Member;
  readonly requestId: string;
  /** The workspace of `X-Service-Workspace-Id`, which the caller has access to. */
  readonly workspaceId: string | undefined;
  /** Aborted at the deadline, or when the client disconnects. */
  readonly signal: AbortSignal;
}
