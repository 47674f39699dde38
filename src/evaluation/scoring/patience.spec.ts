import { problem } from '#platform/problem';
import { impatient, isDatabaseAway, patientUntil } from './patience';

const failure = (code: string): Error => Object.assign(new Error(code), { code });
const sqlState = (code: string): Error => Object.assign(failure(code), { severity: 'ERROR' });
const AWAY = problem.unavailable('The database cannot be reached.');

describe('patience with the database', () => {
  it('does again what the database was away for, until it is done', async () => {
    const errors = [AWAY, failure('ECONNREFUSED')];
    const work = jest.fn(() => (errors.length > 0 ? Promise.reject(errors.shift()!) : Promise.resolve('kept')));
    await expect(patientUntil(new AbortController().signal)(work)).resolves.toBe('kept');
    expect(work).toHaveBeenCalledTimes(3);
  }); // prettier-ignore

  it('does nothing again that failed for another reason, nor where somebody waits for the answer', async () => {
    const mistake = jest.fn(() => Promise.reject(new TypeError('a mistake')));
    await expect(patientUntil(new AbortController().signal)(mistake)).rejects.toThrow('a mistake');
    const away = jest.fn(() => Promise.reject(AWAY));
    await expect(impatient(away)).rejects.toBe(AWAY);
    expect([mistake.mock.calls.length, away.mock.calls.length]).toEqual([1, 1]);
  });

  it('ends with the reason for which it is ended, which tells a cancelled run from a broken one', async () => {
    const controller = new AbortController();
    const reason = new Error('cancelled');
    const waiting = patientUntil(controller.signal)(() => Promise.reject(AWAY));
    setImmediate(() => controller.abort(reason));
    await expect(waiting).rejects.toBe(reason);
  });

  it.each<[unknown, boolean]>([
    [AWAY, true],
    [failure('ECONNREFUSED'), true],
    [sqlState('57P01'), true],
    [sqlState('53300'), true],
    [problem.notFound('dataset', 'x'), false],
    [sqlState('23505'), false],
    [new TypeError(), false],
    ['a text', false],
    [null, false],
  ])('takes %p for a database that is away: %p', (error, isAway) => {
    expect(isDatabaseAway(error)).toBe(isAway);
  });
});
