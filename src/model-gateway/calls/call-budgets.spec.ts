import type { ModelPrices } from '../../telemetry';
import type { BudgetRepository } from '../budgets/budget.repository';
import type { Database } from '#platform/db';
import { firstDayOf, SpendRepository, type SpendRow } from '../budgets/spend.repository';
import type { CalledModel } from '../models/model-directory';
import { CallBudgets, type Spending } from './call-budgets';

const month = firstDayOf(new Date());
const row = (subject: string, spent_usd: number): SpendRow => ({ subject, month, spent_usd });

/** Returns a repository that reads the rows of a test. */
function cacheOn(read: (subjects: readonly string[]) => Promise<SpendRow[]>): SpendRepository {
  return new SpendRepository({
    // the subjects are the first parameter of the statement
    query: ({ values: [subjects] }: { values: [string[]] }) => read(subjects),
  } as unknown as Database);
}

describe('the spending of a subject', () => {
  it('is read once a second for each subject', async () => {
    const queries: string[][] = [];
    const cache = cacheOn((subjects) => {
      queries.push([...subjects]);
      return Promise.resolve([row('a', 3)]);
    });
    expect([...(await cache.spentBy(['a', 'b']))]).toEqual([
      ['a', 3],
      ['b', 0],
    ]);
    expect([...(await cache.spentBy(['b', 'c']))]).toEqual([
      ['b', 0],
      ['c', 0],
    ]);
    expect(queries).toEqual([['a', 'b'], ['c']]);
  });

  it('is not reduced by rows that were read before a call was recorded', async () => {
    let answer!: (rows: SpendRow[]) => void;
    const cache = cacheOn(() => new Promise((resolve) => (answer = resolve)));
    const reading = cache.spentBy(['a']);
    cache.update([row('a', 5)]);
    answer([row('a', 4)]);
    expect([...(await reading)]).toEqual([['a', 5]]);
    expect([...(await cache.spentBy(['a']))]).toEqual([['a', 5]]);
  });

  it('excludes the spending of other months', async () => {
    const cache = cacheOn(() => Promise.resolve([]));
    cache.update([{ subject: 'a', month: '2020-01-01', spent_usd: 9 }]);
    expect([...(await cache.spentBy(['a']))]).toEqual([['a', 0]]);
  });
});

describe('a reservation', () => {
  it('is released once, and leaves no rounding errors', () => {
    const cache = cacheOn(() => Promise.resolve([]));
    const releases = [0.1, 0.2, 1e9, 0.3].map((usd) => cache.reserve(['a', 'b'], usd));
    expect(cache.reservedBy('a')).toBeCloseTo(1e9 + 0.6, 6);
    releases[2]!();
    releases[2]!();
    expect(cache.reservedBy('a')).toBeCloseTo(0.6, 6);
    releases.forEach((release) => release());
    expect([cache.reservedBy('a'), cache.reservedBy('b')]).toEqual([0, 0]);
  });
});

describe('a budget', () => {
  const price = { input_usd_per_million: 1, output_usd_per_million: 1 };
  const model = {
    model_id: 'model_1',
    workspace_id: 'wsp_1',
    name: 'm',
    monthly_budget_usd: 10,
    targets: [{ upstream_model: 'u', price }],
  } as unknown as CalledModel;
  const spending = (maxTokens: number): Spending => ({ model, requestBytes: 4, maxTokens, limits: null });
  const newBudgets = (): { budgets: CallBudgets; spent: SpendRepository } => {
    const spent = cacheOn(() => Promise.resolve([]));
    const workspaces = { amountOf: () => null } as unknown as BudgetRepository;
    return { budgets: new CallBudgets(workspaces, spent, { table: {} } as ModelPrices), spent };
  };

  it('takes the reservations of concurrent calls into account', async () => {
    const { budgets } = newBudgets();
    const outcomes = await Promise.allSettled(
      Array.from({ length: 20 }, () => budgets.allow(spending(5_000_000))),
    );
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(2);
  });

  it('has no reservations left after calls have ended', async () => {
    const { budgets, spent } = newBudgets();
    for (let call = 0; call < 5; call++) {
      const { release } = await budgets.allow(spending(5_000_000));
      release();
    }
    expect(spent.reservedBy('model_1')).toBe(0);
  });
});
