import { Environment } from '#platform/config';
import type { Principal } from '#platform/scope';
import { AccountCache } from './account-cache';

const cacheFor = (seconds: number): AccountCache =>
  new AccountCache(Object.assign(new Environment(), { AUTH_CACHE_SECONDS: seconds }));

const principal = (orgId = 'org_1', expiresInMs = 3_600_000): Principal => ({
  type: 'user',
  id: 'u',
  orgId,
  roles: new Set(),
  workspaceRoles: new Map(),
  workspaceIds: null,
  allow: null,
  credential: { kind: 'token', issuer: 'i', jti: null, expiresAt: new Date(Date.now() + expiresInMs) },
});

describe('AccountCache', () => {
  beforeEach(() => jest.useFakeTimers({ now: 1_800_000_000_000 }));
  afterEach(() => jest.useRealTimers());

  /** Counts how often a token had to be verified. */
  const counting = (made: () => Principal | Promise<Principal> = principal) => {
    const verify = jest.fn(() => Promise.resolve(made()));
    return verify;
  };

  it('drops a principal after the configured time', async () => {
    const cache = cacheFor(30);
    const verify = counting();
    await cache.findPrincipal('token', verify);
    jest.advanceTimersByTime(29_999);
    await cache.findPrincipal('token', verify);
    expect(verify).toHaveBeenCalledTimes(1);
    jest.advanceTimersByTime(1);
    expect(cache.getPrincipal('token')).toBeUndefined();
    await cache.findPrincipal('token', verify);
    expect(verify).toHaveBeenCalledTimes(2);
  });

  it('drops a principal when its token expires', async () => {
    const cache = cacheFor(30);
    const verify = counting(() => principal('org_1', 5_000));
    await cache.findPrincipal('token', verify);
    jest.advanceTimersByTime(4_999);
    expect(cache.getPrincipal('token')).toBeDefined();
    jest.advanceTimersByTime(1);
    expect(cache.getPrincipal('token')).toBeUndefined();
  });

  it('keeps nothing if it is disabled', async () => {
    const cache = cacheFor(0);
    await cache.findPrincipal('token', counting());
    expect(cache.getPrincipal('token')).toBeUndefined();
  });

  it('keeps no failures: a rejected token is verified again', async () => {
    const cache = cacheFor(30);
    const reject = jest.fn(() => Promise.reject(new Error('rejected')));
    await expect(cache.findPrincipal('token', reject)).rejects.toThrow('rejected');
    await expect(cache.findPrincipal('token', reject)).rejects.toThrow('rejected');
    expect(reject).toHaveBeenCalledTimes(2);
  });

  it('verifies a token once for concurrent requests', async () => {
    const cache = cacheFor(30);
    const verify = counting();
    const principals = await Promise.all(
      Array.from({ length: 10 }, () => cache.findPrincipal('token', verify)),
    );
    expect(verify).toHaveBeenCalledTimes(1);
    expect(new Set(principals).size).toBe(1);
  });

  it('drops the principals of an organization when one of its accounts changes, and no others', async () => {
    const cache = cacheFor(30);
    await cache.findPrincipal('one', counting());
    await cache.findPrincipal(
      'other',
      counting(() => principal('org_2')),
    );
    cache.invalidate('org_1');
    expect(cache.getPrincipal('one')).toBeUndefined();
    expect(cache.getPrincipal('other')).toBeDefined();
    cache.clear();
    expect(cache.getPrincipal('other')).toBeUndefined();
  });

  it('does not keep a principal that was read before a change and verified after it', async () => {
    const cache = cacheFor(30);
    let finish: (made: Principal) => void = () => undefined;
    const slow = cache.findPrincipal('token', () => new Promise((resolve) => (finish = resolve)));
    cache.invalidate('org_1');
    const after = counting();
    await cache.findPrincipal('token', after);
    expect(after).toHaveBeenCalledTimes(1);
    cache.invalidate('org_1');
    finish(principal());
    await slow;
    expect(cache.getPrincipal('token')).toBeUndefined();
  });

  it('has a maximum size, and drops the least recently used first', async () => {
    const cache = cacheFor(30);
    const verify = (): Promise<Principal> => Promise.resolve(principal());
    for (let i = 0; i < 10_050; i++) await cache.findPrincipal(`token ${i}`, verify);
    expect(cache.getPrincipal('token 0')).toBeUndefined();
    expect(cache.getPrincipal('token 10049')).toBeDefined();
  });
});
