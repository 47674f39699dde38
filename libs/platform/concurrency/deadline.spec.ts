import { withDeadline } from './deadline';

describe('withDeadline', () => {
  it('returns the result of the work, or throws its error', async () => {
    expect(await withDeadline(Promise.resolve('done'), 60_000, 'late')).toBe('done');
    await expect(withDeadline(Promise.reject(new Error('broken')), 60_000, 'late')).rejects.toThrow('broken');
  });

  it('throws at the deadline, and ignores a later failure', async () => {
    let fail: (error: Error) => void = () => undefined;
    const work = new Promise<void>((_, reject) => (fail = reject));
    await expect(withDeadline(work, 1, 'no answer in time')).rejects.toThrow('no answer in time');
    // an unhandled rejection would end the test run
    fail(new Error('broken'));
    await new Promise(setImmediate);
  });
});
