import type { CalledModel, CalledTarget, ModelDirectory } from '../models/model-directory';
import type { TargetFailureRepository } from '../models/target-failure.repository';
import { TargetHealth } from './target-health';

const target = (upstream_model: string, more: Partial<CalledTarget> = {}): CalledTarget =>
  ({
    upstream_model,
    provider: { provider_id: 'prov_1', generation: 1 },
    restsUntil: 0,
    ...more,
  }) as CalledTarget;
const model = (more: Partial<CalledModel> = {}): CalledModel =>
  ({ model_id: 'model_1', org_id: 'org_1', generation: 1, cooldown_s: 30, ...more }) as CalledModel;

const A = target('a');
const B = target('b');
const MODEL = model();

describe('the health of targets', () => {
  let now = 0;
  let stored: unknown[] = [];
  let health: TargetHealth;

  beforeEach(() => {
    now = 1_000_000;
    stored = [];
    jest.spyOn(performance, 'now').mockImplementation(() => now);
    const repository = {
      put: (_model: CalledModel, { upstream_model }: CalledTarget, seconds: number) =>
        Promise.resolve(void stored.push([upstream_model, seconds])),
      endRest: (_model: CalledModel, { upstream_model }: CalledTarget) =>
        Promise.resolve(void stored.push([upstream_model, 'active'])),
    } as unknown as TargetFailureRepository;
    health = new TargetHealth(repository, { invalidateModel: () => undefined } as unknown as ModelDirectory);
  });
  afterEach(() => jest.restoreAllMocks());

  const order = (on = MODEL, targets: readonly CalledTarget[] = [A, B]): string =>
    health
      .order(on, targets)
      .map(({ upstream_model }) => upstream_model)
      .join('');
  const fail = async (times: number, on = MODEL, failing = A): Promise<void> => {
    for (let one = 0; one < times; one++) await health.failed(on, failing);
  };

  it('lets a target rest after three failures in a row, and stores that', async () => {
    await fail(2);
    expect(order()).toBe('ab');
    await fail(1);
    expect(order()).toBe('ba');
    expect(stored).toEqual([
      ['a', 0],
      ['a', 30],
    ]);
  });

  it('does not count failures before an answer', async () => {
    await fail(2);
    await health.answered(MODEL, A);
    await fail(2);
    expect(order()).toBe('ab');
  });

  it('tries a target again with one call when its rest ends, and renews the rest if that fails', async () => {
    await fail(3);
    now += 30_000;
    expect(order()).toBe('ab');
    health.begin(MODEL, A);
    expect(order()).toBe('ba');
    await fail(1);
    now += 29_999;
    expect(order()).toBe('ba');
    now += 1;
    expect(order()).toBe('ab');
    expect(stored).toEqual([['a', 0], ...[30, 30].map((seconds) => ['a', seconds])]);
  });

  it('uses a target again as soon as it answers', async () => {
    await fail(3);
    now += 30_000;
    health.begin(MODEL, A);
    await health.answered(MODEL, A);
    expect(order()).toBe('ab');
    expect(stored.at(-1)).toEqual(['a', 'active']);
    await health.answered(MODEL, A);
    expect(stored).toHaveLength(3);
  });

  it('tries a target with the next call if the call that tried it has shown nothing', async () => {
    await fail(3);
    health.undecided(MODEL, A);
    expect(order()).toBe('ba');
    now += 30_000;
    health.begin(MODEL, A);
    expect(order()).toBe('ba');
    health.undecided(MODEL, A);
    expect(order()).toBe('ab');
    health.begin(MODEL, A);
    expect(order()).toBe('ba');
  });

  it('learns the rests that other processes have stored, and tries those targets with one call too', () => {
    const resting = target('a', { restsUntil: now + 5_000 });
    expect(order(MODEL, [resting, B])).toBe('ba');
    now += 5_000;
    expect(order()).toBe('ab');
    health.begin(MODEL, A);
    expect(order()).toBe('ba');
  });

  it('ends a rest that another process has stored', async () => {
    await health.answered(MODEL, target('a', { restsUntil: now + 5_000 }));
    expect(stored).toEqual([['a', 'active']]);
  });

  it('keeps the order if all targets rest, or if targets do not rest in this model', async () => {
    await fail(3);
    await fail(3, MODEL, B);
    expect(order()).toBe('ab');
    const never = model({ model_id: 'model_2', cooldown_s: 0 });
    await fail(9, never);
    expect(order(never)).toBe('ab');
  });

  it('forgets failures from before the model or the provider was changed', async () => {
    await fail(3);
    expect(order(model({ generation: 2 }))).toBe('ab');
    const provider = { provider_id: 'prov_1', generation: 2 } as CalledTarget['provider'];
    expect(order(MODEL, [target('a', { provider }), B])).toBe('ab');
    expect(order()).toBe('ba');
  });

  it('stores at most one failure a second that changes nothing but its time', async () => {
    await fail(20);
    now += 1_000;
    await fail(20);
    expect(stored).toHaveLength(3);
  });
});
