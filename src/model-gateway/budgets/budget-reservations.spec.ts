import { sharedApp, until } from '#testing';
import { newId } from '#platform/ids';
import { type Budget, BudgetReservations } from './budget-reservations';
import { ReservationRepository } from './reservation.repository';
import { firstDayOf } from './spend.repository';

/** Each instance stands for a process. */
describe('reservations in budgets', () => {
  const app = sharedApp();
  const newProcess = (): BudgetReservations =>
    new BudgetReservations(new ReservationRepository(app.database));
  const newBudget = (usd = 1): Budget => ({ subject: newId('model'), usd, noun: 'the model m' });
  const reserve = (on: BudgetReservations, budget: Budget, usd: number) => on.reserve('org_1', [budget], usd);
  const rowsOf = ({ subject }: Budget): Promise<{ reserved_usd: number }[]> =>
    app.database.query('SELECT reserved_usd FROM model_reservations WHERE subject = $1', [subject]);

  async function spend({ subject }: Budget, usd: number): Promise<void> {
    await app.database.query(
      `INSERT INTO model_spend AS s (subject, month, spent_usd) VALUES ($1, $2, $3)
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
      const admitted = results.filter((refused) => refused === null).length;
      expect(admitted).toBe(Math.ceil(budget.usd / usd));
      expect(results.find((refused) => refused !== null)).toMatchObject({ leftUsd: 1 });
    },
  );

  it('let four processes spend all of a budget, and at most one call more', async () => {
    const budget = newBudget();
    const costs = [0.001, 0.004, 0.02, 0];
    let spentUsd = 0;
    const work = async (on: BudgetReservations, seed: number): Promise<void> => {
      for (let call = seed; ; call++) {
        const refused = await reserve(on, budget, 0.02);
        if (refused && refused.leftUsd <= 0) return;
        if (refused) continue;
        const cost = costs[call % costs.length]!;
        await spend(budget, cost);
        spentUsd += cost;
        on.release([budget], [0.02], cost);
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
    const transactions = jest.spyOn(repository, 'transaction');
    const one = new BudgetReservations(repository);
    for (let call = 0; call < 16; call++) {
      expect(await reserve(one, budget, 0.1)).toBeNull();
      one.release([budget], [0.1], 0.05);
    }
    expect(transactions).toHaveBeenCalledTimes(1);
  });

  it('apply to all budgets of a call, or to none', async () => {
    const [large, small] = [newBudget(10), newBudget(1)];
    const [one, other] = [newProcess(), newProcess()];
    expect(await reserve(other, small, 1)).toBeNull();
    expect(await one.reserve('org_1', [large, small], 1)).toMatchObject({ subject: small.subject });
    expect([one.heldBy(large.subject), one.heldBy(small.subject)]).toEqual([0, 0]);
  });

  it('are given back to other processes when their calls have ended', async () => {
    const budget = newBudget(100);
    const [one, other] = [newProcess(), newProcess()];
    await reserve(one, budget, 0.1);
    await reserve(one, budget, 0.2);
    one.release([budget], [0.1, 0.2], 0.05);
    expect(one.heldBy(budget.subject)).toBe(0);
    await until(async () => (await rowsOf(budget)).length === 0);
    expect(await reserve(other, budget, 100)).toBeNull();
  });

  it('of a process that has died expire', async () => {
    const budget = newBudget();
    await reserve(newProcess(), budget, 5);
    const other = newProcess();
    expect(await reserve(other, budget, 5)).toMatchObject({ leftUsd: 1 });
    await app.database.query('UPDATE model_reservations SET expires_at = now() WHERE subject = $1', [
      budget.subject,
    ]);
    expect(await reserve(other, budget, 5)).toBeNull();
    expect(await rowsOf(budget)).toEqual([{ reserved_usd: 5 }]);
  });

  it('are not lost or doubled by a failure of the database', async () => {
    const budget = newBudget();
    const repository = new ReservationRepository(app.database);
    const one = new BudgetReservations(repository);
    await reserve(one, budget, 0.5);
    const put = jest.spyOn(repository, 'put').mockRejectedValueOnce(new Error('the connection broke'));
    await expect(reserve(one, budget, 0.3)).rejects.toThrow('the connection broke');
    put.mockRestore();
    expect(one.heldBy(budget.subject)).toBe(0.5);
    expect(await reserve(one, budget, 0.3)).toBeNull();
    expect((await rowsOf(budget))[0]!.reserved_usd).toBeGreaterThanOrEqual(0.8);
  });
});
