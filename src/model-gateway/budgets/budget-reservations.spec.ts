import { sharedApp, until } from '#testing';
import { newId } from '#platform/ids';
import { type Budget, BudgetReservations } from './budget-reservations';
import { ReservationRepository } from './reservation.repository';
import { firstDayOf } from './spend.repository';

/** Each instance stands for a process. */
describe('reservations in budgets', () => {
  const app = sharedApp();
  const processes: BudgetReservations[] = [];
  const newProcess = (repository = new ReservationRepository(app.database)): BudgetReservations => {
    const one = new BudgetReservations(repository);
    processes.push(one);
    return one;
  };
  afterEach(() => Promise.all(processes.splice(0).map((one) => one.onApplicationShutdown())));
  const newBudget = (usd = 1): Budget => ({ subject: newId('model'), usd, noun: 'the model m' });
  const reserve = (on: BudgetReservations, budget: Budget, usd: number) => on.reserve('org_1', [budget], usd);
  const rowsOf = ({ subject }: Budget): Promise<{ reserved_usd: number }[]> =>
    app.database.query('SELECT reserved_usd FROM model_reservations WHERE subject = $1', [subject]);

  async function spend({ subject }: Budget, usd: number): Promise<void> {
    await app.database.query(
      `INSERT INTO model_spend AS s (subject, month, spent_usd, org_id) VALUES ($1, $2, $3, 'org_1')
        ON CONFLICT (subject, month) DO UPDATE SET spent_usd = s.spent_usd + excluded.spent_usd`,
      [subject, firstDayOf(new Date()), usd],
    );
  }

  it.each([0.03, 0.4, 5])(
    'of four processes exceed a budget of $1 only by one reservation of $%d',
    async (usd) => {
      const budget = newBudget();
      const processes = Array.from({ length: 4 }, newProcess);
      const results = await Promise.all(
        Array.from({ length: 200 }, (_, n) => reserve(processes[n % 4]!, budget, usd)),
      );
      const admitted = results.filter((exhausted) => exhausted === null).length;
      expect(admitted).toBe(Math.ceil(budget.usd / usd));
      expect(results.find((exhausted) => exhausted !== null)).toMatchObject({ leftUsd: 1 });
    },
  );

  it('let four processes spend all of a budget, and at most one call more', async () => {
    const budget = newBudget();
    const costs = [0.001, 0.004, 0.02, 0];
    let spentUsd = 0;
    const work = async (on: BudgetReservations, seed: number): Promise<void> => {
      for (let call = seed; ; call++) {
        const exhausted = await reserve(on, budget, 0.02);
        if (exhausted && exhausted.leftUsd <= 0) return;
        if (exhausted) continue;
        const cost = costs[call % costs.length]!;
        await spend(budget, cost);
        spentUsd += cost;
        on.release([budget], 0.02, cost);
      }
    };
    const processes = Array.from({ length: 4 }, newProcess);
    await Promise.all(processes.flatMap((one, n) => [work(one, n), work(one, n + 1)]));
    expect(spentUsd).toBeGreaterThanOrEqual(1 - 1e-9);
    expect(spentUsd).toBeLessThanOrEqual(1.02 + 1e-9);
  });

  it('need no statement while a process has enough in advance', async () => {
    const budget = newBudget(1_000);
    const repository = new ReservationRepository(app.database);
    const locks = jest.spyOn(repository, 'lock');
    const one = newProcess(repository);
    for (let call = 0; call < 16; call++) {
      expect(await reserve(one, budget, 0.1)).toBeNull();
      one.release([budget], 0.1, 0.05);
    }
    expect(locks).toHaveBeenCalledTimes(1);
  });

  it('exceed a budget neither by what a process has in advance nor by its renewals', async () => {
    const budget = newBudget(10);
    const repository = new ReservationRepository(app.database);
    const put = jest.spyOn(repository, 'put');
    const [one, other] = [newProcess(repository), newProcess()];
    let heldUsd = 0;
    const take = async (on: BudgetReservations, usd: number): Promise<void> => {
      if ((await reserve(on, budget, usd)) === null) heldUsd += usd;
    };
    await take(one, 0.1);
    await take(other, 9.3);
    for (let call = 0; call < 5; call++) await take(one, 0.1);
    put.mockClear();
    await until(() => put.mock.calls.length > 0); // a renewal
    for (let call = 0; call < 30; call++) await take(one, 0.1);
    expect(heldUsd).toBeGreaterThanOrEqual(10 - 1e-9);
    expect(heldUsd).toBeLessThanOrEqual(10.1 + 1e-9);
  });

  it('count what calls spend that end while others are decided', async () => {
    const budget = newBudget();
    const repository = new ReservationRepository(app.database);
    const one = newProcess(repository);
    await reserve(one, budget, 0.9);
    const lock = repository.lock.bind(repository);
    jest.spyOn(repository, 'lock').mockImplementation(async (...of) => {
      const states = await lock(...of);
      await spend(budget, 0.9);
      one.release([budget], 0.9, 0.9);
      return states;
    });
    const results = await Promise.all(Array.from({ length: 20 }, () => reserve(one, budget, 0.05)));
    expect(results.filter((exhausted) => exhausted === null)).toHaveLength(2);
  });

  it('apply to all budgets of a call, or to none', async () => {
    const [large, small] = [newBudget(10), newBudget(1)];
    const [one, other] = [newProcess(), newProcess()];
    expect(await reserve(other, small, 1)).toBeNull();
    expect(await one.reserve('org_1', [large, small], 1)).toMatchObject({ subject: small.subject });
    expect([one.heldBy(large.subject), one.heldBy(small.subject)]).toEqual([0, 0]);
  });

  it('apply to a budget that was lowered', async () => {
    const budget = newBudget(100);
    const one = newProcess();
    await reserve(one, budget, 0.1);
    await spend(budget, 1.5);
    expect(await reserve(one, { ...budget, usd: 1 }, 0.1)).toMatchObject({ leftUsd: -0.5 });
  });

  it('of a call can be raised by what it no longer needs, even if they exceed the budget', async () => {
    const budget = newBudget();
    const one = newProcess();
    expect(await reserve(one, budget, 5)).toBeNull();
    expect(await one.raise('org_1', [budget], 1, 0)).toMatchObject({ leftUsd: 1 });
    expect(await one.raise('org_1', [budget], 1, 4.5)).toBeNull();
    one.lower([budget], 2);
    expect(one.heldBy(budget.subject)).toBe(4);
    one.release([budget], 4, 0);
    expect(one.heldBy(budget.subject)).toBe(0);
  });

  it('are given back to other processes when their calls have ended', async () => {
    const budget = newBudget(100);
    const [one, other] = [newProcess(), newProcess()];
    await reserve(one, budget, 0.1);
    await reserve(one, budget, 0.2);
    one.release([budget], 0.1, 0.05);
    one.release([budget], 0.2, 0);
    await until(async () => (await rowsOf(budget)).length === 0);
    expect(await reserve(other, budget, 100)).toBeNull();
  });

  it('are given back by a process that stops', async () => {
    const budget = newBudget();
    const [one, other] = [newProcess(), newProcess()];
    await reserve(one, budget, 5);
    one.release([budget], 5, 0.1);
    await one.onApplicationShutdown();
    expect(await reserve(other, budget, 5)).toBeNull();
  });

  it('of a process that has died expire', async () => {
    const budget = newBudget();
    const store = (expiry: string): Promise<unknown> =>
      app.database.query(
        `INSERT INTO model_reservations VALUES ($1, 'dead', 5, now() + $2::interval)
          ON CONFLICT (subject, process_id) DO UPDATE SET expires_at = excluded.expires_at`,
        [budget.subject, expiry],
      );
    const one = newProcess();
    await store('1 minute');
    expect(await reserve(one, budget, 5)).toMatchObject({ leftUsd: 1 });
    await store('0 seconds');
    expect(await reserve(one, budget, 5)).toBeNull();
    await new ReservationRepository(app.database).deleteExpired();
    expect(await rowsOf(budget)).toEqual([{ reserved_usd: 5 }]);
  });

  it('are not lost or doubled by a failure of the database', async () => {
    const budget = newBudget();
    const repository = new ReservationRepository(app.database);
    const one = newProcess(repository);
    await reserve(one, budget, 0.5);
    const put = jest.spyOn(repository, 'put').mockRejectedValueOnce(new Error('the connection broke'));
    await expect(reserve(one, budget, 0.3)).rejects.toThrow('the connection broke');
    put.mockRestore();
    expect(one.heldBy(budget.subject)).toBe(0.5);
    expect(await reserve(one, budget, 0.3)).toBeNull();
    expect((await rowsOf(budget))[0]!.reserved_usd).toBeGreaterThanOrEqual(0.8);
  });
});
