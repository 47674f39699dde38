/** The effect of a new or changed trace on a session. */
export interface SessionChange {
  workspaceId: string;
  sessionId: string;
  /** Start of the trace in microseconds since 1970; null if the trace has left the session. */
  startedAt: bigint | null;
  /** Whether a trace that may have been the last one has left the session or now starts earlier. */
  isShrunk: boolean;
}

/** The members of a trace that its session depends on. */
export interface SessionTrace {
  workspaceId: string;
  sessionId: string | null;
  startedAt: bigint;
}

/**
 * Returns the effects of a changed trace on its sessions.
 *
 * @param before undefined for a new trace
 */
export function changesOf(before: SessionTrace | undefined, after: SessionTrace): SessionChange[] {
  const changes: SessionChange[] = [];
  const { workspaceId, sessionId, startedAt } = after;
  if (before?.sessionId === sessionId && before.startedAt === startedAt) return changes;
  if (sessionId !== null) changes.push({ workspaceId, sessionId, startedAt, isShrunk: false });
  if (before && before.sessionId !== null) {
    const isShrunk = before.sessionId !== sessionId || startedAt < before.startedAt;
    if (isShrunk) changes.push({ workspaceId, sessionId: before.sessionId, startedAt: null, isShrunk });
  }
  return changes;
}

/** Merges the changes of each session. Sorts sessions by key, the order in which all writers lock them. */
export function mergeBySession(changes: readonly SessionChange[]): SessionChange[] {
  const sessions = new Map<string, SessionChange>();
  for (const change of changes) {
    const key = `${change.workspaceId} ${change.sessionId}`;
    const earlier = sessions.get(key);
    sessions.set(key, earlier ? merged(earlier, change) : change);
  }
  return [...sessions].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, change]) => change);
}

const merged = (one: SessionChange, other: SessionChange): SessionChange => ({
  ...one,
  startedAt: later(one.startedAt, other.startedAt),
  isShrunk: one.isShrunk || other.isShrunk,
});

const later = (one: bigint | null, other: bigint | null): bigint | null =>
  one === null || (other !== null && other > one) ? other : one;
