import { problem } from '#platform/problem';
import { retry } from '#platform/concurrency';
import { isDatabaseAway, whileDatabaseAway } from './score-run.executor';

const failure = (code: string): Error => Object.assign(new Error(code), { code });
const sqlState = (code: string): Error => Object.assign(failure(code), { severity: 'ERROR' });
const AWAY = problem.unavailable('The database cannot be reached.');

describe('retries while the database is away', () => {
  it('repeat the work until the database is back', async () => {
    const errors = [AWAY, failure('ECONNREFUSED')];
    const work = jest.fn(() => (errors.length > 0 ? Promise.reject(errors.shift()!) : Promise.resolve('kept')));
    await expect(retry(work, whileDatabaseAway(new AbortController().signal))).resolves.toBe('kept');
    expect(work).toHaveBeenCalledTimes(3);
  }); // prettier-ignore

  it('repeat nothing that failed for another reason', async () => {
    const mistake = jest.fn(() => Promise.reject(new TypeError('a mistake')));
    await expect(retry(mistake, whileDatabaseAway(new AbortController().signal))).rejects.toThrow(
      'a mistake',
    );
    expect(mistake).toHaveBeenCalledTimes(1);
  });

  it("end with the signal's reason, which tells a cancelled run from a broken one", async () => {
    const controller = new AbortController();
    const reason = new Error('cancelled');
    const waiting = retry(() => Promise.reject(AWAY), whileDatabaseAway(controller.signal));
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
  ])('take %p for a database that is away: %p', (error, isAway) => {
    expect(isDatabaseAway(error)).toBe(isAway);
  });
});
