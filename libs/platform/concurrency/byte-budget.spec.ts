import { ByteBudget } from './byte-budget';

describe('ByteBudget', () => {
  it('rejects a size above the total or the share of an owner, and reserves nothing for it', () => {
    const budget = new ByteBudget({ total: 100, share: 50 });
    const a = budget.acquire('a', 50);
    expect(a.tryGrow(1)).toBe(false);
    expect(budget.acquire('a').tryGrow(1)).toBe(false);
    const b = budget.acquire('b', 50);
    expect(budget.acquire('c').tryGrow(1)).toBe(false);
    expect(budget.used).toBe(100);
    b.release();
    expect(budget.acquire('c').tryGrow(50)).toBe(true);
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
    expect(new ByteBudget({ total: 10 }).acquire('a').tryGrow(11)).toBe(false);
    const budget = new ByteBudget({ total: 10, share: 5, admitsOversized: true });
    const large = budget.acquire('a', 8);
    expect(large.tryGrow(5)).toBe(true);
    expect(() => budget.acquire('b', 1)).toThrow('The service is at its memory limit.');
    large.release();
    budget.acquire('b', 2);
    expect(budget.acquire('a').tryGrow(6)).toBe(true);
  });
});
