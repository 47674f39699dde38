import { problem, problemOfDatabaseError } from '#platform/problem';
import { retry } from '#platform/concurrency';
import { isDatabaseUnavailable, isOutage, whileDatabaseUnavailable } from './run-execution.service';

const failure = (code: string): Error => Object.assign(new Error(code), { code });
const sqlState = (code: string): Error => Object.assign(failure(code), { severity: 'ERROR' });
const UNAVAILABLE = problem.unavailable('The database cannot be reached.');

describe('whileDatabaseUnavailable', () => {
  it('retries until the database is back', async () => {
    const errors = [UNAVAILABLE, failure('ECONNREFUSED')];
    const work = jest.fn(() => (errors.length > 0 ? Promise.reject(errors.shift()!) : Promise.resolve('kept')));
    await expect(retry(work, whileDatabaseUnavailable(new AbortController().signal))).resolves.toBe('kept');
    expect(work).toHaveBeenCalledTimes(3);
  }); // oxfmt-ignore

  it('does not retry other errors', async () => {
    const mistake = jest.fn(() => Promise.reject(new TypeError('a mistake')));
    await expect(retry(mistake, whileDatabaseUnavailable(new AbortController().signal))).rejects.toThrow(
      'a mistake',
    );
    expect(mistake).toHaveBeenCalledTimes(1);
  });

  it("throws the signal's reason when it is aborted", async () => {
    const controller = new AbortController();
    const reason = new Error('cancelled');
    const waiting = retry(() => Promise.reject(UNAVAILABLE), whileDatabaseUnavailable(controller.signal));
    setImmediate(() => controller.abort(reason));
    await expect(waiting).rejects.toBe(reason);
  });

  it.each<[unknown, boolean]>([
    [UNAVAILABLE, true],
    [failure('ECONNREFUSED'), true],
    [sqlState('57P01'), true],
    [sqlState('53300'), true],
    [sqlState('55P03'), true],
    [problem.notFound('dataset', 'x'), false],
    [sqlState('23505'), false],
    [new TypeError(), false],
    ['a text', false],
    [null, false],
  ])('classifies %p as unavailable: %p', (error, isUnavailable) => {
    expect(isDatabaseUnavailable(error)).toBe(isUnavailable);
  });
});

describe('isOutage', () => {
  it.each<[unknown, boolean]>([
    [UNAVAILABLE, true],
    [sqlState('53300'), true],
    [sqlState('55P03'), false],
    [problemOfDatabaseError(sqlState('55P03')), false],
    [{ driverError: sqlState('55P03') }, false],
    [sqlState('23505'), false],
  ])('classifies %p as an outage: %p', (error, isOfAll) => {
    expect(isOutage(error)).toBe(isOfAll);
  });
});
