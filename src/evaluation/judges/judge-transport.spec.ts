import { Problem, problem } from '#platform/problem';
import type { CalledModel, InternalCalls } from '../../model-gateway';
import { GatewayTransport } from './judge-transport';

const MODEL = { model_id: 'model_1' } as CalledModel;
const never = new AbortController().signal;

interface Fake {
  model?: CalledModel | null;
  call?: (call: { signal: AbortSignal }) => Promise<unknown>;
}

const transportOn = ({ model = MODEL, call = () => Promise.reject(new Error('unexpected')) }: Fake) =>
  new GatewayTransport(
    { findById: () => Promise.resolve(model), call } as unknown as InternalCalls,
    'model_1',
    50,
  );

const TARGET = {
  provider: { kind: 'anthropic', base: new URL('http://127.0.0.1/v1') },
  upstream_model: 'upstream',
};
const SERVER = { provider_kind: 'anthropic', base_url: 'http://127.0.0.1/v1' };

const answering = (value: unknown, costUsd: number | null = null) =>
  transportOn({
    call: () => Promise.resolve({ bytes: Buffer.from(JSON.stringify(value)), costUsd, target: TARGET }),
  });
const failing = (error: unknown) =>
  // oxlint-disable-next-line typescript/prefer-promise-reject-errors -- as the gateway throws
  transportOn({ call: () => Promise.reject(error) });

describe('GatewayTransport', () => {
  it('returns the answer, with the cost in the member where gateways report it', async () => {
    const model = 'answered';
    expect(
      await answering({ model, choices: [], usage: { prompt_tokens: 1 } }, 0.5).send('{}', never),
    ).toEqual({ value: { model, choices: [], usage: { prompt_tokens: 1, cost: 0.5 } }, server: SERVER });
    expect(await answering({ model, choices: [], usage: null }, 0).send('{}', never)).toEqual({
      value: { model, choices: [], usage: { cost: 0 } },
      server: SERVER,
    });
    expect(await answering({ model, choices: [] }).send('{}', never)).toEqual({
      value: { model, choices: [] },
      server: SERVER,
    });
  });

  it.each([undefined, null, ''])('names the requested model if the answer names %j', async (model) => {
    expect(await answering({ model, choices: [] }).send('{}', never)).toEqual({
      value: { model: 'upstream', choices: [] },
      server: SERVER,
    });
  });

  it('reports a response that is too large', async () => {
    expect(await answering({ text: 'x'.repeat(1024 * 1024) }).send('{}', never)).toEqual({ tooLarge: true });
  });

  it('returns 404 if the model was archived', async () => {
    const outcome = await transportOn({ model: null }).send('{}', never);
    expect(outcome).toMatchObject({ status: 404, text: expect.stringContaining('archived') as string });
  });

  it.each([
    ['a refused request', problem.invalidRequest('no'), { status: 400 }],
    [
      'a spent budget, which is not retried',
      problem.rateLimited('spent', 9).withMembers({ error_code: 'insufficient_quota' }),
      { status: 402 },
    ],
    [
      'a provider whose address is not public, not as a rejected key',
      new Problem('forbidden', 'The address is not public.'),
      { status: 502, text: expect.stringContaining('not public') as string },
    ],
    [
      'a rate limit of the provider',
      problem.rateLimited('slow down', 7),
      { isRateLimited: true, retryAfterMs: 7_000 },
    ],
    ['an unavailable provider', problem.unavailable('away'), { isRateLimited: false }],
    [
      'a timeout of the provider',
      new Problem('request_timeout', 'late'),
      { failure: expect.stringContaining('late') as string },
    ],
  ])('reports %s', async (_, error, expected) => {
    expect(await failing(error).send('{}', never)).toMatchObject(expected);
  });

  it('times out', async () => {
    const hanging = transportOn({
      call: ({ signal }) =>
        new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error))),
    });
    expect(await hanging.send('{}', never)).toEqual({
      failure: 'did not respond within 0.05 s',
      isRateLimited: false,
      lostAnswer: 'part',
    });
  });

  it('throws unexpected errors, and the reason of an abort before or during the call', async () => {
    const reason = new Error('cancelled');
    await expect(answering({}).send('{}', AbortSignal.abort(reason))).rejects.toBe(reason);
    const controller = new AbortController();
    const cancelled = transportOn({
      call: () => {
        controller.abort(reason);
        return Promise.reject(new Error('other'));
      },
    });
    await expect(cancelled.send('{}', controller.signal)).rejects.toBe(reason);
    await expect(failing(new TypeError('bug')).send('{}', never)).rejects.toThrow(TypeError);
  });
});
