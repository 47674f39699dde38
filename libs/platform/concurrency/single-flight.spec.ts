import { setImmediate as settle } from 'node:timers/promises';
import { SingleFlight } from './single-flight';

const DISCONNECTED = new Error('the client has disconnected');

describe('SingleFlight', () => {
  let flights: SingleFlight<string>;
  let signals: AbortSignal[];
  let finish: (result: string) => void;
  let fail: (error: Error) => void;

  beforeEach(() => {
    flights = new SingleFlight();
    signals = [];
  });

  /** Runs until the test ends it, or until its signal is aborted. */
  const work = (signal: AbortSignal): Promise<string> => {
    signals.push(signal);
    return new Promise((resolve, reject) => {
      [finish, fail] = [resolve, reject];
      signal.addEventListener('abort', () => reject(signal.reason as Error));
    });
  };
  const caller = () => {
    const client = new AbortController();
    return { client, answer: flights.run('key', client.signal, work) };
  };

  it('runs the work once for all callers of a key, and again for later ones', async () => {
    const both = [flights.run('key', undefined, work), flights.run('key', undefined, work)];
    finish('done');
    expect(await Promise.all(both)).toEqual(['done', 'done']);
    const later = flights.run('key', undefined, work);
    finish('again');
    expect(await later).toBe('again');
    expect(signals.map((signal) => signal.aborted)).toEqual([false, false]);
  });

  it('separates keys', async () => {
    const one = flights.run('one', undefined, () => Promise.resolve('1'));
    const other = flights.run('other', undefined, () => Promise.resolve('2'));
    expect(await Promise.all([one, other])).toEqual(['1', '2']);
  });

  it('passes a failure to all callers, and runs the work again for the next one', async () => {
    const both = [caller(), caller()];
    fail(new Error('no answer'));
    for (const { answer } of both) await expect(answer).rejects.toThrow('no answer');
    const next = caller();
    finish('done');
    expect(await next.answer).toBe('done');
  });

  it('lets each caller leave with its own signal, and continues for the others', async () => {
    const [first, second, third] = [caller(), caller(), caller()];
    first.client.abort(DISCONNECTED);
    await expect(first.answer).rejects.toBe(DISCONNECTED);
    second.client.abort(DISCONNECTED);
    await expect(second.answer).rejects.toBe(DISCONNECTED);
    expect(signals.map((signal) => signal.aborted)).toEqual([false]);
    finish('done');
    expect(await third.answer).toBe('done');
  });

  it('continues for a caller without a signal when the others have left', async () => {
    const stays = flights.run('key', undefined, work);
    const leaves = caller();
    leaves.client.abort(DISCONNECTED);
    await expect(leaves.answer).rejects.toBe(DISCONNECTED);
    finish('done');
    expect(await stays).toBe('done');
    expect(signals.map((signal) => signal.aborted)).toEqual([false]);
  });

  it('aborts the work when all callers have left, and runs it again for the next one', async () => {
    const [first, second] = [caller(), caller()];
    for (const { client } of [first, second]) client.abort(DISCONNECTED);
    await expect(first.answer).rejects.toBe(DISCONNECTED);
    await expect(second.answer).rejects.toBe(DISCONNECTED);
    expect(signals.map((signal) => signal.aborted)).toEqual([true]);
    const next = caller();
    await settle();
    expect(signals).toHaveLength(2);
    finish('again');
    expect(await next.answer).toBe('again');
  });

  it('does not run the work for a caller who has already left', async () => {
    await expect(flights.run('key', AbortSignal.abort(DISCONNECTED), work)).rejects.toBe(DISCONNECTED);
    expect(signals).toEqual([]);
  });

  it('lets no caller join work from before a clear, and still passes its result to its callers', async () => {
    const before = flights.run('key', undefined, work);
    const finishBefore = finish;
    flights.clear();
    expect(flights.pending('key')).toBeUndefined();
    const after = flights.run('key', undefined, work);
    finishBefore('old');
    expect(await before).toBe('old');
    expect(flights.pending('key')).toBeDefined();
    finish('new');
    expect(await after).toBe('new');
    expect(flights.pending('key')).toBeUndefined();
  });
});
