import { Budget } from './scoring-terms';

describe('what scoring may cost', () => {
  it('is spent with the first cent that reaches it, and not before', () => {
    const budget = new Budget(0.3);
    budget.spend(0.1);
    budget.spend(0.1);
    expect(budget.mayGoOn()).toBe(true);
    budget.spend(0.1);
    expect(budget.mayGoOn()).toBe(false);
  });

  it.each([
    ['nothing', 0, 0],
    ['what was spent before another process took over', 1, 1],
    ['less than was spent before', 1, 2.5],
  ])('allows no target to begin where it is %s', (_, max, before) => {
    expect(new Budget(max, before).mayGoOn()).toBe(false);
  });

  it('is felt only where something was left because of it', () => {
    const budget = new Budget(1, 0.9);
    budget.spend(5);
    expect(budget.isFelt).toBe(false);
    budget.mayGoOn();
    expect(budget.isFelt).toBe(true);
  });

  it('has no end where none is set', () => {
    const budget = new Budget(null, 1e9);
    budget.spend(1e300);
    expect(budget.mayGoOn()).toBe(true);
    expect(budget.isFelt).toBe(false);
  });
});
