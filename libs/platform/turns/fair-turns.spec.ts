import { setImmediate as settle } from 'node:timers/promises';
import type { Scope } from '#platform/auth';
import { FairTurns } from './fair-turns';

/** Of an organization; one name has a workspace of its own for each call. */
let workspaces = 0;
const scopeOf = (organization: string): Scope =>
  ({ orgId: organization, workspaceId: `${organization}${workspaces++}` }) as Scope;

const NEVER = new AbortController().signal;

/** Pieces of work that end when they are told to, or fail. */
function workshop(turns: FairTurns) {
  const begun: string[] = [];
  const ends = new Map<string, (fault?: Error) => void>();
  const ask = (name: string, signal = NEVER): Promise<string> =>
    turns.take(scopeOf(name.charAt(0)), signal, async () => {
      begun.push(name);
      await new Promise<void>((resolve, reject) => {
        ends.set(name, (fault) => (fault ? reject(fault) : resolve()));
      });
      return name;
    });
  const end = async (name: string, fault?: Error): Promise<void> => {
    ends.get(name)!(fault);
    await settle();
  };
  return { begun, ask, end };
}

describe('FairTurns', () => {
  it('has so many pieces of work done at once, owners in turn', async () => {
    const { begun, ask, end } = workshop(new FairTurns(2, 10));
    const all = ['a1', 'a2', 'a3', 'a4', 'b1'].map((name) => ask(name));
    await settle();
    expect(begun).toEqual(['a1', 'a2']);
    await end('a1');
    await end('a2');
    expect(begun).toEqual(['a1', 'a2', 'a3', 'b1']);
    for (const name of ['a3', 'b1', 'a4']) await end(name);
    expect(await Promise.all(all)).toEqual(['a1', 'a2', 'a3', 'a4', 'b1']);
  });

  it('goes on after work that fails', async () => {
    const { begun, ask, end } = workshop(new FairTurns(1, 10));
    const failing = expect(ask('a1')).rejects.toThrow('no database');
    const next = ask('a2');
    await settle();
    await end('a1', new Error('no database'));
    await failing;
    expect(begun).toEqual(['a1', 'a2']);
    await end('a2');
    expect(await next).toBe('a2');
  });

  it('lets one who gives up go at once, and never does its work', async () => {
    const { begun, ask, end } = workshop(new FairTurns(1, 2));
    const first = ask('a1');
    const leaving = new AbortController();
    const left = ask('b1', leaving.signal);
    const third = ask('c1');
    leaving.abort(new Error('the client has gone'));
    await expect(left).rejects.toThrow('the client has gone');
    // its place is free again, and only once
    const fourth = ask('c2');
    await expect(ask('c3')).rejects.toMatchObject({ code: 'service_overloaded' });
    for (const name of ['a1', 'c1', 'c2']) await end(name);
    expect(await Promise.all([first, third, fourth])).toEqual(['a1', 'c1', 'c2']);
    expect(begun).toEqual(['a1', 'c1', 'c2']);
  });

  it('does not begin what was given up before', async () => {
    const { begun, ask } = workshop(new FairTurns(1, 2));
    await expect(ask('a1', AbortSignal.abort(new Error('too late')))).rejects.toThrow('too late');
    expect(begun).toEqual([]);
  });

  it('keeps the turn of work that was given up until it ends', async () => {
    const { begun, ask, end } = workshop(new FairTurns(1, 2));
    const leaving = new AbortController();
    const first = ask('a1', leaving.signal);
    const second = ask('a2');
    leaving.abort(new Error('the client has gone'));
    await settle();
    expect(begun).toEqual(['a1']);
    await end('a1');
    expect(begun).toEqual(['a1', 'a2']);
    await end('a2');
    await Promise.all([first, second]);
  });

  it('refuses those who wait beyond what there is room for', async () => {
    const { ask, end } = workshop(new FairTurns(1, 2));
    const all = ['a1', 'a2', 'a3'].map((name) => ask(name));
    await expect(ask('a4')).rejects.toMatchObject({
      status: 503,
      code: 'service_overloaded',
      headers: { 'Retry-After': '1' },
    });
    for (const name of ['a1', 'a2', 'a3']) await end(name);
    await Promise.all(all);
    // nobody waits any more
    const more = [ask('a5'), ask('a6'), ask('a7')];
    for (const name of ['a5', 'a6', 'a7']) await end(name);
    await Promise.all(more);
  });

  it('refuses the newest of an owner who has filled the queue, for another to wait', async () => {
    const { ask, end } = workshop(new FairTurns(1, 3));
    const first = ask('a1');
    const all = ['a2', 'a3', 'a4'].map((name) => ask(name));
    const outcomes = Promise.allSettled(all);
    const other = ask('b1');
    await expect(ask('a5')).rejects.toMatchObject({ code: 'service_overloaded' });
    for (const name of ['a1', 'a2', 'b1', 'a3']) await end(name);
    expect(await Promise.all([first, other])).toEqual(['a1', 'b1']);
    expect((await outcomes).map((one) => one.status)).toEqual(['fulfilled', 'fulfilled', 'rejected']);
  });
});
