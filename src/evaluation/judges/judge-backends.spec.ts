import type { Environment } from '#platform/config';
import type { CalledModel, InternalCalls } from '../../model-gateway';
import { JudgeBackends } from './judge-backends';

const PROVIDER = { provider_id: 'prov_1', kind: 'openai', base: new URL('http://127.0.0.1/v1') };
const modelOf = (more: object = {}): CalledModel =>
  ({
    model_id: 'model_1',
    strategy: 'fallback',
    targets: [{ provider: PROVIDER, upstream_model: 'u', price: null, weight: 1 }],
    ...more,
  }) as unknown as CalledModel;

describe('JudgeBackends with gateway models', () => {
  let currentModel: CalledModel | null;
  const calls = {
    findIn: () => Promise.resolve(currentModel),
    costOf: (model: { cost?: number }) => model.cost ?? null,
  } as unknown as InternalCalls;
  const environment = {
    JUDGE_CONTEXT_TOKENS: 8_000,
    JUDGE_MAX_TOKENS: 500,
    JUDGE_TIMEOUT_MS: 1_000,
  } as Environment;
  const unused = {} as never;
  const backends = new JudgeBackends(environment, unused, unused, unused, unused, calls, unused);
  const find = (model: string) =>
    backends.find({
      workspace_id: 'wsp_1',
      ...{ scorer_id: 'scr_1', scorer_version: 1 },
      definition: { output: { type: 'boolean' }, prompt: '?', model: `gateway:${model}` },
    });

  it('returns undefined for a model that does not exist', async () => {
    currentModel = null;
    expect(await find('none')).toBeUndefined();
  });

  it('reuses a backend until the strategy or the targets of its model change', async () => {
    currentModel = modelOf();
    const first = await find('model_1');
    currentModel = modelOf({ description: 'changed', generation: 2 });
    expect(await find('model_1')).toBe(first);
    const others = [
      { targets: [{ provider: PROVIDER, upstream_model: 'other' }] },
      { targets: [{ provider: { ...PROVIDER, base: new URL('http://127.0.0.2/v1') }, upstream_model: 'u' }] },
      { strategy: 'weighted' },
      { model_id: 'model_2' },
    ];
    for (const other of others) {
      currentModel = modelOf(other);
      expect(await find('model_1')).not.toBe(first);
    }
  });
});
