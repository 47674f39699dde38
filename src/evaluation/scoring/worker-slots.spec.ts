import { Slots } from './worker-slots';

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

  it('are not lost with one who gives up waiting', async () => {
    const slots = new Slots(1);
    await slots.acquire(never);
    const controller = new AbortController();
    const leaving = slots.acquire(controller.signal);
    const staying = slots.acquire(never);
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
