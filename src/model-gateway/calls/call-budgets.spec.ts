import type { ModelPrices } from '../../telemetry';
import type { BudgetRepository } from '../budgets/budget.repository';
import { BudgetReservations } from '../budgets/budget-reservations';
import type { ReservationRepository } from '../budgets/reservation.repository';
import type { Database } from '#platform/db';
import { Metrics } from '#platform/metrics';
import type { Problem } from '#platform/problem';
import { firstDayOf, SpendRepository, type SpendRow } from '../budgets/spend.repository';
import type { JsonObject } from '../formats/json-shape';
import type { KeyLimits } from '../keys/key-limits.repository';
import type { CalledModel, CalledTarget } from '../models/model-directory';
import type { CallFormat } from './call.types';
import { CallBudgets, mostUsage, type Spending } from './call-budgets';
import { GatewayMetrics } from './gateway.metrics';
import { boundOf } from './request-bound';

const month = firstDayOf(new Date());
const row = (subject: string, spent_usd: number): SpendRow => ({ subject, month, spent_usd });

/** Returns reservations of the only process. */
const reservationsOn = (spent: SpendRepository): BudgetReservations =>
  new BudgetReservations({
    transaction: (work: () => unknown) => work(),
    lock: async (_: unknown, subjects: readonly string[]) => {
      const spentUsd = await spent.spentBy(subjects);
      return subjects.map((subject) => ({
        subject,
        spent_usd: spentUsd.get(subject),
        reserved_by_others_usd: 0,
      }));
    },
    put: () => undefined,
  } as unknown as ReservationRepository);

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

describe('a limit that only newer servers read', () => {
  const outputOf = (url: string, format: CallFormat, request: object, kind = 'openai'): number | null => {
    const limits = { price: null, max_input_tokens: null, max_output_tokens: null };
    const target = { ...limits, upstream_model: 'u', provider: { kind, base: new URL(url) } };
    const prices = { table: {}, contextOf: () => null } as unknown as ModelPrices;
    const bound = boundOf(request as never, 4, format);
    return mostUsage(target as unknown as CalledTarget, format, bound, prices).outputTokens;
  };

  it.each<[string, number]>([
    ['https://api.openai.com/v1', 1],
    ['https://eu.api.openai.com/v1', 1],
    ['https://x.openai.azure.com/openai/v1', 1],
    ['https://vllm.example/v1', 128_000],
    ['https://api.openai.com.evil.example/v1', 128_000],
    ['https://notapi.openai.com/v1', 128_000],
  ])('at %s leaves at most %d tokens', (url, tokens) => {
    expect(outputOf(url, 'chat', { max_completion_tokens: 1 })).toBe(tokens);
    expect(outputOf(url, 'messages', { max_tokens: 1 })).toBe(tokens);
    expect(outputOf(url, 'chat', { max_tokens: 1, max_completion_tokens: 1 })).toBe(1);
    expect(outputOf(url, 'responses', { max_output_tokens: 1 })).toBe(1);
    expect(outputOf(url, 'chat', { max_completion_tokens: 1 }, 'anthropic')).toBe(1);
    expect(outputOf(url, 'messages', { max_tokens: 1 }, 'anthropic')).toBe(1);
  });
});

const newMetrics = (): GatewayMetrics => new GatewayMetrics(new Metrics());

describe('a budget', () => {
  const price = { input_usd_per_million: 1, output_usd_per_million: 10 };
  const target = (upstream_model: string) => ({
    ...{ upstream_model, price, max_input_tokens: null, max_output_tokens: null },
    provider: { kind: 'openai', base: new URL('http://provider.example') },
  });
  const prices = { table: {}, contextOf: () => null } as unknown as ModelPrices;
  const model = {
    model_id: 'model_1',
    workspace_id: 'wsp_1',
    name: 'm',
    monthly_budget_usd: 10,
    targets: [target('u')],
  } as unknown as CalledModel;
  const spending = (maxTokens: number): Spending => {
    const bound = boundOf({ max_tokens: maxTokens }, 4, 'chat');
    return { model, format: 'chat', facts: { bound }, limits: null };
  };
  const newBudgets = (): { budgets: CallBudgets; spent: SpendRepository } => {
    const spent = cacheOn(() => Promise.resolve([]));
    const workspaces = { amountOf: () => null } as unknown as BudgetRepository;
    return {
      budgets: new CallBudgets(workspaces, spent, reservationsOn(spent), prices, newMetrics()),
      spent,
    };
  };

  it('takes the reservations of concurrent calls into account', async () => {
    const { budgets } = newBudgets();
    const outcomes = await Promise.allSettled(
      Array.from({ length: 20 }, () => budgets.allow(spending(500_000))),
    );
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(2);
  });

  it.each(['key', 'workspace', 'model'] as const)(
    'of the %s is reserved before it is spent, and tells the two apart',
    async (which) => {
      let spentUsd = 0;
      const subjects = { key: 'sva_1', workspace: 'wsp_1', model: 'model_1' };
      const spent = cacheOn(() => Promise.resolve([row(subjects[which], spentUsd)]));
      const amounts = { amountOf: () => (which === 'workspace' ? 10 : null) } as unknown as BudgetRepository;
      const budgets = new CallBudgets(amounts, spent, reservationsOn(spent), prices, newMetrics());
      const limits = { service_account_id: 'sva_1', monthly_budget_usd: which === 'key' ? 10 : null };
      const called = { ...model, monthly_budget_usd: which === 'model' ? 10 : null };
      const call = { ...spending(900_000), model: called, limits: limits as KeyLimits };
      const [first, second] = [await budgets.allow(call), await budgets.allow(call)];
      const reserved = await budgets.allow(call).catch((error: unknown) => error as Problem);
      expect(reserved).toMatchObject({ code: 'rate_limited', headers: { 'Retry-After': '5' } });
      expect((reserved as Problem).headers).not.toHaveProperty('X-Should-Retry');
      expect((reserved as Problem).detail).toMatch(/in flight have reserved .* \(10 of 10 US dollars\)/);
      first.reservation.release(0);
      (await budgets.allow(call)).reservation.release(0);
      second.reservation.release(0);
      spentUsd = 10;
      spent.update([row(subjects[which], spentUsd)]);
      const refused = await budgets.allow(call).catch((error: unknown) => error as Problem);
      expect(refused).toMatchObject({ code: 'rate_limited', headers: { 'X-Should-Retry': 'false' } });
      expect((refused as Problem).detail).toMatch(/is spent/);
    },
  );

  it('is spent, not reserved, if both apply', async () => {
    const { budgets, spent } = newBudgets();
    await budgets.allow(spending(999_000));
    spent.update([row('model_1', 10)]);
    await expect(budgets.allow(spending(1))).rejects.toThrow(/is spent/);
  });

  it('is not at risk from one call, which may cost more than all of it only as one response without a limit', async () => {
    const { budgets } = newBudgets();
    const small = { ...model, monthly_budget_usd: 1 };
    const allow = (request: JsonObject): Promise<unknown> =>
      budgets.allow({ ...spending(1), model: small, facts: { bound: boundOf(request, 4, 'chat') } }).then(
        ({ reservation }) => reservation.release(0),
        (error: unknown) => (error as Problem).code,
      );
    const refused = [{ max_tokens: 1e9 }, { max_tokens: 200_000 }, { n: 128 }, { max_tokens: 50_000, n: 3 }];
    for (const request of refused) expect(await allow(request)).toBe('forbidden');
    for (const request of [{}, { max_tokens: 100_001 }, { max_tokens: 50_000, n: 2 }])
      expect(await allow(request)).toBeUndefined();
  });
});
