import type { Environment } from '#platform/config';
import { Slot, Slots, WorkerSlots } from './worker-slots';

const never = new AbortController().signal;

describe('slots', () => {
  it('are given to as many as there are, then in the order of waiting', async () => {
    const slots = new Slots(2);
    const order: string[] = [];
    await slots.acquire(never);
    await slots.acquire(never);
    const waiting = ['a', 'b'].map((name) => slots.acquire(never).then(() => order.push(name)));
    await Promise.resolve();
    expect(order).toEqual([]);
    slots.release();
    await waiting[0];
    expect(order).toEqual(['a']);
    slots.release();
    await waiting[1];
    expect(order).toEqual(['a', 'b']);
  });

  it('are given to owners in turn, however many of one wait, and come back from being lent', async () => {
    const slots = new Slots(1);
    const order: string[] = [];
    const wait = (owner: string, name: string) =>
      slots.acquire(never, [owner.charAt(0), owner]).then(() => order.push(name));
    const lent = new Slot(slots, never, ['a', 'a1']);
    await lent.take();
    let answer = (): void => undefined;
    const waiting = lent.lend(never, () => new Promise<void>((resolve) => (answer = resolve)));
    await slots.acquire(never, ['a', 'a1']);
    for (const name of ['first', 'second', 'third']) void wait('a1', `a1 ${name}`);
    void wait('b1', 'b1 first');
    void wait('a2', 'a2 first');
    answer();
    void waiting.then(() => order.push('a1 lent'));
    await new Promise(setImmediate);
    void wait('b1', 'b1 second');
    for (let count = 0; count < 7; count++) {
      slots.release();
      await new Promise(setImmediate);
    }
    expect(order).toEqual([
      ...['a1 first', 'b1 first', 'a2 first', 'b1 second'],
      ...['a1 second', 'a1 third', 'a1 lent'],
    ]);
  });

  it('are not lost with one who gives up waiting', async () => {
    const slots = new Slots(1);
    await slots.acquire(never);
    const controller = new AbortController();
    const leaving = slots.acquire(controller.signal, ['a']);
    const staying = slots.acquire(never, ['b']);
    controller.abort(new Error('stop'));
    await expect(leaving).rejects.toThrow('stop');
    slots.release();
    await staying;
    slots.release();
    await slots.acquire(never);
  });

  it('are not given to one who has given up already', async () => {
    const slots = new Slots(1);
    await expect(slots.acquire(AbortSignal.abort(new Error('stop')))).rejects.toThrow('stop');
    await slots.acquire(never);
  });
});

describe('a slot that is lent', () => {
  const taken = async (slots: Slots, stopping = never): Promise<Slot> => {
    const slot = new Slot(slots, stopping);
    await slot.take();
    return slot;
  };

  it('is used by others meanwhile, and waited for again before what it is for goes on', async () => {
    const slots = new Slots(1);
    const slot = await taken(slots);
    const order: string[] = [];
    const waited = slot
      .lend(never, async () => {
        await slots.acquire(never);
        order.push('another begins');
        return 'answer';
      })
      .then((result) => order.push(result));
    await new Promise(setImmediate);
    expect(order).toEqual(['another begins']);
    order.push('another ends');
    slots.release();
    await waited;
    expect(order).toEqual(['another begins', 'another ends', 'answer']);
    // it is held again, once, however often it is given back
    slot.giveBack();
    slot.giveBack();
    await slots.acquire(never);
    await expect(slots.acquire(AbortSignal.timeout(0))).rejects.toThrow();
  });

  it.each(['what it waits for', 'everything'])('is given back where %s is given up', async (what) => {
    const slots = new Slots(1);
    const [one, all] = [new AbortController(), new AbortController()];
    const slot = await taken(slots, all.signal);
    const waiting = slot.lend(one.signal, (signal) => new Slots(0).acquire(signal));
    (what === 'everything' ? all : one).abort(new Error('enough'));
    await expect(waiting).rejects.toThrow('enough');
    slot.giveBack();
    await slots.acquire(never);
    await expect(slots.acquire(AbortSignal.timeout(0))).rejects.toThrow();
  });

  it('is not waited for any more where what it is for is given up meanwhile', async () => {
    const slots = new Slots(1);
    const one = new AbortController();
    const slot = await taken(slots);
    const waiting = slot.lend(one.signal, () => slots.acquire(never));
    await new Promise(setImmediate);
    one.abort(new Error('too late'));
    await expect(waiting).rejects.toThrow('too late');
    slot.giveBack();
    slots.release();
    await slots.acquire(never);
  });

  it.each<[string, (abort: () => void, slots: Slots) => void]>([
    ['while another has it', (abort, slots) => (abort(), slots.release())],
    ['as it comes', (abort, slots) => (slots.release(), abort())],
    ['long before the other gives it back', (abort, slots) => (abort(), setImmediate(() => slots.release()))],
  ])('is given back exactly once where what it is for is given up %s', async (_, end) => {
    for (const isAll of [false, true]) {
      const slots = new Slots(1);
      const [one, all] = [new AbortController(), new AbortController()];
      const slot = await taken(slots, all.signal);
      const lent = slot.lend(one.signal, () => slots.acquire(never));
      await new Promise(setImmediate);
      end(() => (isAll ? all : one).abort(new Error('too late')), slots);
      await Promise.allSettled([lent]);
      slot.giveBack();
      await slots.acquire(never);
      await expect(slots.acquire(AbortSignal.timeout(0))).rejects.toThrow();
    }
  });

  it('is not taken again where what it is for was given up before there was an answer', async () => {
    const slots = new Slots(1);
    const one = new AbortController();
    const slot = await taken(slots);
    const lent = slot.lend(one.signal, () => Promise.resolve(one.abort(new Error('too late'))));
    await expect(lent).rejects.toThrow('too late');
    slot.giveBack();
    await slots.acquire(never);
    await expect(slots.acquire(AbortSignal.timeout(0))).rejects.toThrow();
  });
});

describe('the slots of a worker', () => {
  it('are as many for code as for judges, and neither takes those of the other', async () => {
    const slots = new WorkerSlots({ WORKER_CONCURRENCY: 1 } as Environment);
    await slots.of('llm_judge').acquire(never);
    await slots.of('code').acquire(never);
    for (const kind of ['llm_judge', 'code'] as const) {
      await expect(slots.of(kind).acquire(AbortSignal.timeout(0))).rejects.toThrow();
    }
    slots.of('code').release();
    await expect(slots.of('llm_judge').acquire(AbortSignal.timeout(0))).rejects.toThrow();
    await slots.of('code').acquire(never);
  });
});
