import { changesOf, mergeBySession, type SessionChange } from './session-change';

const trace = (sessionId: string | null, startedAt: bigint) => ({ workspaceId: 'w', sessionId, startedAt });
const change = (sessionId: string, startedAt: bigint | null, isShrunk = false): SessionChange => ({
  workspaceId: 'w',
  sessionId,
  startedAt,
  isShrunk,
});

describe('changes of sessions', () => {
  it.each([
    ['follow from a new trace', undefined, trace('a', 5n), [change('a', 5n)]],
    ['do not follow from a new trace without a session', undefined, trace(null, 5n), []],
    ['do not follow from an unchanged trace', trace('a', 5n), trace('a', 5n), []],
    ['follow from a trace that joins a session', trace(null, 5n), trace('a', 5n), [change('a', 5n)]],
    [
      'follow from a trace that now starts earlier',
      trace('a', 5n),
      trace('a', 4n),
      [change('a', 4n), change('a', null, true)],
    ],
    [
      'follow from a trace that moves to another session',
      trace('a', 5n),
      trace('b', 5n),
      [change('b', 5n), change('a', null, true)],
    ],
  ])('%s', (_, before, after, changes) => {
    expect(changesOf(before, after)).toEqual(changes);
  });

  it('are merged into one per session, in the order in which writers lock sessions', () => {
    const changes = [
      change('b', 1n),
      { ...change('a', 9n), workspaceId: 'v' },
      change('c', null, true),
      change('b', 3n),
      change('a', 7n),
      change('c', 2n),
      change('b', 2n),
    ];
    const expected = [
      { ...change('a', 9n), workspaceId: 'v' },
      change('a', 7n),
      change('b', 3n),
      change('c', 2n, true),
    ];
    expect(mergeBySession(changes)).toEqual(expected);
    expect(mergeBySession([...changes].reverse())).toEqual(expected);
  });
});
