import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import http from 'node:http';
import { type ApiClient, newOrganization, sharedApp, type TestOrganization, until } from '#testing';
import {
  begin,
  chatCompletion,
  contentChunk,
  FakeProvider,
  json,
  newModel,
  newProvider,
  type ProviderAnswer,
  type ProviderCall,
  send as sendEvent,
} from './provider.fixture';

/** Calls that a stolen key sends at once: in the plain attack, and with each trick. */
const MANY = 80;
const SOME = 15;
const BUDGET_USD = 1;
const OUTPUT_USD_PER_MILLION = 10;
/** Tokens that the provider charges for an answer without a limit. */
const LONGEST_ANSWER = 100_000;

type Body = Record<string, unknown>;
type BudgetOf = 'key' | 'model' | 'workspace';

/** A call that tries to cost more than it seems to. */
interface Trick {
  path?: string;
  /** The body, or its JSON. */
  body: object | string;
  answer: ProviderAnswer;
  /** Whether the client disconnects once the provider has the call. */
  leaves?: boolean;
}

const messages = [{ role: 'user', content: 'Hi' }];
const silence: ProviderAnswer = () => undefined;

/** Tokens of the longest answer that a provider gives: it takes each limit to be the one that counts. */
function longestAnswer(text: string): number {
  const limits = [...text.matchAll(/"max_(?:completion_|output_)?tokens":"?(\d+)/gi)].map(([, n]) =>
    Number(n),
  );
  const answers = Number(/"(?:n|best_of)":"?(\d+)/i.exec(text)?.[1] ?? 1);
  return (
    (limits.length === 0 || limits.includes(1) ? Math.max(LONGEST_ANSWER, ...limits) : Math.max(...limits)) *
    answers
  );
}

const answered: ProviderAnswer = ({ text, body }, response) => {
  const usage = { prompt_tokens: 10, completion_tokens: longestAnswer(text) };
  if (body.stream !== true)
    return json(response, chatCompletion({ role: 'assistant', content: 'Hello' }, usage));
  begin(response);
  sendEvent(response, contentChunk('Hello'));
  sendEvent(response, { ...contentChunk(''), choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] });
  sendEvent(response, { ...contentChunk(''), choices: [], usage });
  response.end('data: [DONE]\n\n');
};

const quick: ProviderAnswer = (_call, response) =>
  json(response, chatCompletion({ role: 'assistant', content: 'Hello' }));

const brokenOff: ProviderAnswer = (_call, response) => {
  response.destroy();
};

const unreadable: ProviderAnswer = (_call, response) => json(response, { hello: 'world' });

/** A call with as many tokens as its limit, from a server that reports no usage. */
const unreported: ProviderAnswer = ({ body }, response) => {
  const called = { name: 'f', arguments: 'x'.repeat(4 * Number(body.max_tokens)) };
  json(response, {
    choices: [{ message: { role: 'assistant', tool_calls: [{ id: 'c', function: called }] } }],
  });
};

const queued: ProviderAnswer = (_call, response) =>
  json(response, { id: 'resp_1', object: 'response', status: 'queued', output: [], usage: null });

const chat = (more: Body = {}): object => ({ model: 'm', messages, ...more });

const TRICKS: Record<string, Trick> = {
  'without a limit': { body: chat(), answer: answered },
  'with a small limit beside a large one': {
    body: chat({ max_completion_tokens: 1, max_tokens: 100_000 }),
    answer: answered,
  },
  'with several answers': { body: chat({ max_tokens: 12_500, n: 8 }), answer: answered },
  'with several answers, in other letters': { body: chat({ max_tokens: 1_000, N: 128 }), answer: answered },
  'with more answers than OpenAI gives': { body: chat({ max_tokens: 100, n: 1_000 }), answer: answered },
  'with a number of answers that is a text': { body: chat({ max_tokens: 100, n: '1000' }), answer: answered },
  'with a best of several answers, in other letters': {
    body: chat({ max_tokens: 1_000, Best_Of: 128 }),
    answer: answered,
  },
  'with a limit that older servers ignore': { body: chat({ max_completion_tokens: 1 }), answer: answered },
  'with a limit that is translated to one that older servers ignore': {
    path: '/model/v1/messages',
    body: chat({ max_tokens: 1 }),
    answer: answered,
  },
  'with a limit of another format': { body: chat({ max_output_tokens: 1 }), answer: answered },
  'with a limit that is a text': { body: chat({ max_tokens: '1' }), answer: answered },
  'with a limit twice': {
    body: '{"model":"m","messages":[{"role":"user","content":"Hi"}],"max_tokens":100000,"max_tokens":1}',
    answer: answered,
  },
  'with a limit twice, in other letters': {
    body: chat({ Max_Tokens: 100_000, max_tokens: 10 }),
    answer: answered,
  },
  'with a limit twice, in a letter outside of ASCII': {
    body: chat({ max_tokenſ: 100_000, max_tokens: 1 }),
    answer: answered,
  },
  'with a limit under another name': { body: chat({ max_tokens: 1, n_predict: 100_000 }), answer: answered },
  'that report no usage': { body: chat({ max_tokens: 25_000 }), answer: unreported },
  'that stream': { body: chat({ stream: true }), answer: answered },
  'that time out': { body: chat({ max_tokens: 100_000 }), answer: silence },
  'whose client leaves': { body: chat({ max_tokens: 100_000 }), answer: silence, leaves: true },
  'that stream, and whose client leaves before the first byte': {
    body: chat({ max_tokens: 100_000, stream: true }),
    answer: silence,
    leaves: true,
  },
  'whose connection breaks': { body: chat({ max_tokens: 100_000 }), answer: brokenOff },
  'whose answer cannot be read': { body: chat({ max_tokens: 100_000 }), answer: unreadable },
  'that go on in the background': {
    path: '/model/v1/responses',
    body: { model: 'm', input: 'Hi', background: true, max_output_tokens: 100_000 },
    answer: queued,
  },
};

/** The dollars that a provider charges must not exceed a budget by more than one call, whatever a stolen key sends. */
describe('a budget of $1 costs at most $1 and one call', () => {
  const app = sharedApp({ env: { OUTBOUND_ALLOW: '127.0.0.0/8' } });
  let org: TestOrganization;
  let admin: ApiClient;
  let provider: FakeProvider;

  beforeEach(async () => {
    org = await newOrganization(app);
    admin = await org.member('admin');
    provider = await FakeProvider.listen();
  });
  afterEach(() => provider.close());

  /** Returns a gateway key, with a budget of its model, its workspace or its own. */
  async function stolenKey(budgetOf: BudgetOf, timeout_ms: number): Promise<string> {
    const { workspaceId: workspace_id } = org;
    const budget = { monthly_budget_usd: BUDGET_USD };
    const price = { input_usd_per_million: 0, output_usd_per_million: OUTPUT_USD_PER_MILLION };
    const target = {
      provider_id: await newProvider(admin, workspace_id, provider),
      upstream_model: 'u',
      price,
    };
    const limits = budgetOf === 'model' ? budget : {};
    // the second attempts of calls that time out cost as much as the first
    await newModel(admin, workspace_id, {
      name: 'm',
      targets: [target],
      timeout_ms,
      retries: 1,
      ...limits,
    });
    if (budgetOf === 'workspace') await admin.put(`/model/v1/budgets/${workspace_id}`, budget);
    const own = budgetOf === 'key' ? budget : {};
    return (await admin.post('/model/v1/keys', { workspace_id, name: 'stolen', ...own })).body.key as string;
  }

  /** Sends a call. @returns the status of its response, or undefined if its client has left */
  async function send(url: string, key: string, trick: Trick): Promise<number | undefined> {
    const { path = '/model/v1/chat/completions', body, leaves } = trick;
    const traceId = randomBytes(16).toString('hex');
    const headers = {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      traceparent: `00-${traceId}-${'1'.repeat(16)}-01`,
    };
    const request = http.request(url + path, { method: 'POST', headers, agent: false });
    request.on('error', () => undefined).end(typeof body === 'string' ? body : JSON.stringify(body));
    const response = once(request, 'response') as Promise<[http.IncomingMessage]>;
    const isRefused = response.then(
      () => true,
      () => true,
    );
    if (leaves) {
      const isSent = until(() =>
        provider.calls.some((one) => String(one.headers.traceparent).includes(traceId)),
      );
      await Promise.race([isRefused, isSent]);
      request.destroy();
      return undefined;
    }
    const [answer] = await response;
    for await (const _ of answer);
    return answer.statusCode!;
  }

  const usage = async (): Promise<any> => (await admin.get('/model/v1/usage')).body.total;
  const costOf = ({ text }: ProviderCall): number => (longestAnswer(text) * OUTPUT_USD_PER_MILLION) / 1e6;

  /** Sends many calls at once, and some more afterwards. Returns the costs of the calls that the provider received. */
  async function attack(
    trick: Trick,
    count: number,
    budgetOf: BudgetOf = 'key',
    urls: readonly string[] = [app.url],
  ): Promise<number[]> {
    const key = await stolenKey(budgetOf, trick.answer === silence ? 1_000 : 60_000);
    let decided = 0;
    let onAllDecided!: () => void;
    const allDecided = new Promise<void>((resolve) => (onAllDecided = resolve));
    const decide = (): void => void (++decided >= count && onAllDecided());
    provider.answer = async (one, response) => {
      decide();
      await allDecided;
      await trick.answer(one, response);
    };
    const sent = Array.from({ length: count }, async (_, n) => {
      const status = await send(urls[n % urls.length]!, key, trick);
      if (status === 429 || status === 400) decide();
    });
    await Promise.all(sent);
    const isRecorded = async (): Promise<boolean> => (await usage()).attempts >= provider.calls.length;
    await until(isRecorded);
    for (let again = 0; again < 5; again++) await send(app.url, key, trick);
    await until(isRecorded);
    return provider.calls.map(costOf);
  }

  it.each(Object.keys(TRICKS))('with calls %s', async (name) => {
    const costs = await attack(TRICKS[name]!, SOME);
    const spentUsd = costs.reduce((sum, cost) => sum + cost, 0);
    expect(spentUsd).toBeLessThanOrEqual(BUDGET_USD + Math.max(0, ...costs) + 1e-9);
    expect((await usage()).cost_usd).toBeGreaterThanOrEqual(spentUsd - 1e-9);
  });

  it.each(['key', 'model', 'workspace'] as const)(
    `with ${MANY} calls at once, for the %s`,
    async (budgetOf) => {
      const costs = await attack(TRICKS['without a limit']!, MANY, budgetOf);
      expect(costs).toHaveLength(1);
      expect(await usage()).toMatchObject({ call_count: 1, cost_usd: 1, estimated_usd: 0 });
    },
  );

  it(`with ${MANY} calls at once, to two processes`, async () => {
    const other = await app.another();
    const trick: Trick = { body: chat({ max_tokens: 7_000 }), answer: answered };
    const costs = await attack(trick, MANY, 'key', [app.url, other.url]);
    expect(costs).toHaveLength(15);
    expect(await usage()).toMatchObject({ call_count: 15, cost_usd: 1.05 });
  });

  it('lets an honest caller run calls one at a time, and more at once with a smaller limit', async () => {
    const key = app.api(await stolenKey('key', 60_000));
    const held: (() => void)[] = [];
    provider.answer = (one, response) => void held.push(() => void quick(one, response));
    const ask = (more: Body) => key.post('/model/v1/chat/completions', chat(more));
    const first = ask({});
    await until(() => held.length === 1);
    const { status, headers, body } = await ask({ max_tokens: 1 });
    expect([status, body.code, body.error.code, headers.get('retry-after')]).toEqual([
      ...[429, 'rate_limited', 'rate_limited', '5'],
    ]);
    expect(body.detail).toMatch(/reserved.*Try again in 5 s.*would reserve.*max_tokens/);
    held.splice(0).forEach((answer) => answer());
    expect((await first).status).toBe(200);
    const others = Array.from({ length: 10 }, () => ask({ max_tokens: 1_000 }));
    await until(() => held.length === 10);
    held.splice(0).forEach((answer) => answer());
    expect((await Promise.all(others)).map((one) => one.status)).toEqual(Array(10).fill(200));
  });
});
