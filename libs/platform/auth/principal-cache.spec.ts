import { Environment } from '#platform/config';
import type { Principal } from '#platform/scope';
import { PrincipalCache } from './principal-cache';

const cacheFor = (seconds: number): PrincipalCache =>
  new PrincipalCache(Object.assign(new Environment(), { AUTH_CACHE_SECONDS: seconds }));

const principal = (orgId = 'org_1', expiresInMs = 3_600_000): Principal => ({
  type: 'user',
  id: 'u',
  orgId,
  roles: new Set(),
  workspaceRoles: new Map(),
  workspaceIds: null,
  credential: { kind: 'token', issuer: 'i', jti: null, expiresAt: new Date(Date.now() + expiresInMs) },
});

describe('what is remembered of tokens', () => {
  beforeEach(() => jest.useFakeTimers({ now: 1_800_000_000_000, doNotFake: ['performance'] }));
  afterEach(() => jest.useRealTimers());

  /** Counts how often a token had to be verified. */
  const counting = (made: () => Principal | Promise<Principal> = principal) => {
    const verify = jest.fn(() => Promise.resolve(made()));
    return verify;
  };

  it('saves verifying again, for as long as is configured and no longer', async () => {
    const cache = cacheFor(30);
    const verify = counting();
    await cache.find('token', verify);
    jest.advanceTimersByTime(29_999);
    await cache.find('token', verify);
    expect(verify).toHaveBeenCalledTimes(1);
    jest.advanceTimersByTime(1);
    expect(cache.recall('token')).toBeUndefined();
    await cache.find('token', verify);
    expect(verify).toHaveBeenCalledTimes(2);
  });

  it('ends when the token does', async () => {
    const cache = cacheFor(30);
    const verify = counting(() => principal('org_1', 5_000));
    await cache.find('token', verify);
    jest.advanceTimersByTime(4_999);
    expect(cache.recall('token')).toBeDefined();
    jest.advanceTimersByTime(1);
    expect(cache.recall('token')).toBeUndefined();
  });

  it('is nothing where the configuration says so', async () => {
    const cache = cacheFor(0);
    await cache.find('token', counting());
    expect(cache.recall('token')).toBeUndefined();
  });

  it('is never a failure: what was refused once is looked at again', async () => {
    const cache = cacheFor(30);
    const refuse = jest.fn(() => Promise.reject(new Error('refused')));
    await expect(cache.find('token', refuse)).rejects.toThrow('refused');
    await expect(cache.find('token', refuse)).rejects.toThrow('refused');
    expect(refuse).toHaveBeenCalledTimes(2);
  });

  it('is found out once by many requests that come at once', async () => {
    const cache = cacheFor(30);
    const verify = counting();
    const found = await Promise.all(Array.from({ length: 10 }, () => cache.find('token', verify)));
    expect(verify).toHaveBeenCalledTimes(1);
    expect(new Set(found).size).toBe(1);
  });

  it('is forgotten when an account of its organization changes, and of that one alone', async () => {
    const cache = cacheFor(30);
    await cache.find('one', counting());
    await cache.find(
      'other',
      counting(() => principal('org_2')),
    );
    cache.forget('org_1');
    expect(cache.recall('one')).toBeUndefined();
    expect(cache.recall('other')).toBeDefined();
    cache.clear();
    expect(cache.recall('other')).toBeUndefined();
  });

  it('is not what was read before a change, when the verification ends after it', async () => {
    const cache = cacheFor(30);
    let finish: (made: Principal) => void = () => undefined;
    const slow = cache.find('token', () => new Promise((resolve) => (finish = resolve)));
    cache.forget('org_1');
    const after = counting();
    await cache.find('token', after);
    expect(after).toHaveBeenCalledTimes(1);
    cache.forget('org_1');
    finish(principal());
    await slow;
    expect(cache.recall('token')).toBeUndefined();
  });

  it('is bounded: the tokens used least recently go first', async () => {
    const cache = cacheFor(30);
    for (let i = 0; i < 10_050; i++) await cache.find(`token ${i}`, counting());
    expect(cache.recall('token 0')).toBeUndefined();
    expect(cache.recall('token 10049')).toBeDefined();
  });
});
