import { setImmediate as settle } from 'node:timers/promises';
import { SharedWork } from './shared-work';

const GONE = new Error('the client has gone');

describe('work that several wait for', () => {
  let shared: SharedWork<string>;
  let signals: AbortSignal[];
  let finish: (result: string) => void;

  beforeEach(() => {
    shared = new SharedWork();
    signals = [];
  });

  /** Is under way until `finish`, or until its signal is aborted. */
  const work = (signal: AbortSignal): Promise<string> => {
    signals.push(signal);
    return new Promise((resolve, reject) => {
      finish = resolve;
      signal.addEventListener('abort', () => reject(signal.reason as Error));
    });
  };
  const asked = () => {
    const client = new AbortController();
    return { client, answer: shared.get('key', client.signal, work) };
  };

  it('is left by each as soon as its own client goes, and goes on for the others', async () => {
    const [first, second, third] = [asked(), asked(), asked()];
    first.client.abort(GONE);
    await expect(first.answer).rejects.toBe(GONE);
    second.client.abort(GONE);
    await expect(second.answer).rejects.toBe(GONE);
    expect(signals.map((signal) => signal.aborted)).toEqual([false]);
    finish('done');
    expect(await third.answer).toBe('done');
  });

  it('ends when all are gone, and begins anew for who comes then', async () => {
    const [first, second] = [asked(), asked()];
    for (const { client } of [first, second]) client.abort(GONE);
    await expect(first.answer).rejects.toBe(GONE);
    await expect(second.answer).rejects.toBe(GONE);
    expect(signals.map((signal) => signal.aborted)).toEqual([true]);
    const next = asked();
    await settle();
    expect(signals).toHaveLength(2);
    finish('anew');
    expect(await next.answer).toBe('anew');
  });

  it('is not begun for one who has gone already', async () => {
    await expect(shared.get('key', AbortSignal.abort(GONE), work)).rejects.toBe(GONE);
    expect(signals).toEqual([]);
  });
});
