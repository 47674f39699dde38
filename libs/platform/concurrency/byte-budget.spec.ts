import { ByteBudget } from './byte-budget';

describe('ByteBudget', () => {
  it('rejects a size above the total or the share of an owner, and reserves nothing for it', () => {
    const budget = new ByteBudget({ total: 100, share: 50 });
    const a = budget.acquire('a', 50);
    expect(a.tryGrow(1)).toBe(false);
    expect(budget.tryAcquire('a', 1)).toBeUndefined();
    const b = budget.acquire('b', 50);
    expect(budget.tryAcquire('c', 1)).toBeUndefined();
    expect(budget.used).toBe(100);
    b.release();
    expect(budget.tryAcquire('c', 50)).toBeDefined();
  });

  it('throws a 503 with Retry-After when it is exhausted', () => {
    const budget = new ByteBudget({ total: 1, detail: 'Too much at once.' });
    expect(() => budget.acquire('a', 2)).toThrow(
      expect.objectContaining({
        status: 503,
        code: 'service_overloaded',
        detail: 'Too much at once.',
        headers: { 'Retry-After': '1' },
      }),
    );
  });

  it('releases a lease once, which then reserves nothing more', () => {
    const changes: number[] = [];
    const budget = new ByteBudget({ total: 100, onChange: (used) => changes.push(used) });
    const lease = budget.acquire('a', 30);
    lease.grow(40);
    lease.release();
    lease.release();
    lease.grow(50);
    expect(budget.used).toBe(0);
    expect(changes).toEqual([30, 70, 0]);
  });

  it('admits an oversized lease only if allowed, and only alone', () => {
    expect(new ByteBudget({ total: 10 }).tryAcquire('a', 11)).toBeUndefined();
    const budget = new ByteBudget({ total: 10, share: 5, admitsOversized: true });
    const large = budget.acquire('a', 8);
    expect(large.tryGrow(5)).toBe(true);
    expect(budget.tryAcquire('b', 1)).toBeUndefined();
    large.release();
    budget.acquire('b', 2);
    expect(budget.tryAcquire('a', 6)).toBeDefined();
  });
});
