/** What a change of traces is to a session. */
export interface SessionChange {
  workspaceId: string;
  sessionId: string;
  /** When a trace of it began, in microseconds since 1970; null where none that is known is left in it. */
  startedAt: bigint | null;
  /** A trace has left it, or begins earlier than it did, and may have been the last. */
  isLessened: boolean;
}

/** A trace, as a session knows it. */
export interface SessionTrace {
  workspaceId: string;
  sessionId: string | null;
  startedAt: bigint;
}

/**
 * What it is to sessions that a trace became another.
 *
 * @param before undefined for one that is new
 */
export function changesOf(before: SessionTrace | undefined, after: SessionTrace): SessionChange[] {
  const changes: SessionChange[] = [];
  const { workspaceId, sessionId, startedAt } = after;
  if (before?.sessionId === sessionId && before.startedAt === startedAt) return changes;
  if (sessionId !== null) changes.push({ workspaceId, sessionId, startedAt, isLessened: false });
  if (before && before.sessionId !== null) {
    const isLessened = before.sessionId !== sessionId || startedAt < before.startedAt;
    if (isLessened) changes.push({ workspaceId, sessionId: before.sessionId, startedAt: null, isLessened });
  }
  return changes;
}

/** One change for each session, in the order of their keys, in which all who write take their locks. */
export function oneForEach(changes: readonly SessionChange[]): SessionChange[] {
  const sessions = new Map<string, SessionChange>();
  for (const change of changes) {
    const key = `${change.workspaceId} ${change.sessionId}`;
    const known = sessions.get(key);
    sessions.set(key, known ? together(known, change) : change);
  }
  return [...sessions].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, change]) => change);
}

const together = (one: SessionChange, other: SessionChange): SessionChange => ({
  ...one,
  startedAt: later(one.startedAt, other.startedAt),
  isLessened: one.isLessened || other.isLessened,
});

const later = (one: bigint | null, other: bigint | null): bigint | null =>
  one === null || (other !== null && other > one) ? other : one;
