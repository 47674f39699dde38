import { changesOf, oneForEach, type SessionChange } from './session-change';

const trace = (sessionId: string | null, startedAt: bigint) => ({ workspaceId: 'w', sessionId, startedAt });
const change = (sessionId: string, startedAt: bigint | null, isShrunk = false): SessionChange => ({
  workspaceId: 'w',
  sessionId,
  startedAt,
  isShrunk,
});

describe('what traces change of sessions', () => {
  it.each([
    ['a new trace', undefined, trace('a', 5n), [change('a', 5n)]],
    ['a new trace without a session', undefined, trace(null, 5n), []],
    ['one that stays as it was', trace('a', 5n), trace('a', 5n), []],
    ['one that gets a session', trace(null, 5n), trace('a', 5n), [change('a', 5n)]],
    ['one that begins earlier', trace('a', 5n), trace('a', 4n), [change('a', 4n), change('a', null, true)]],
    ['one of another session', trace('a', 5n), trace('b', 5n), [change('b', 5n), change('a', null, true)]],
  ])('%s', (_, before, after, changes) => {
    expect(changesOf(before, after)).toEqual(changes);
  });

  it('is one change for each session, in the order in which all who write lock them', () => {
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
    expect(oneForEach(changes)).toEqual(expected);
    expect(oneForEach([...changes].reverse())).toEqual(expected);
  });
});
