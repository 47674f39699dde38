import { Budget } from './judge.service';

describe('Budget', () => {
  it('is spent once the costs reach the limit', () => {
    const budget = new Budget(0.3);
    budget.spend(0.1);
    budget.spend(0.1);
    expect(budget.canContinue()).toBe(true);
    budget.spend(0.1);
    expect(budget.canContinue()).toBe(false);
  });

  it.each([
    ['zero', 0, 0],
    ['equal to the cost before a takeover', 1, 1],
    ['less than the cost so far', 1, 2.5],
  ])('lets no work start if the limit is %s', (_, max, before) => {
    expect(new Budget(max, before).canContinue()).toBe(false);
  });

  it('reports stopped work only after work was refused', () => {
    const budget = new Budget(1, 0.9);
    budget.spend(5);
    expect(budget.hasStoppedWork).toBe(false);
    budget.canContinue();
    expect(budget.hasStoppedWork).toBe(true);
  });

  it('is never spent without a limit', () => {
    const budget = new Budget(null, 1e9);
    budget.spend(1e300);
    expect(budget.canContinue()).toBe(true);
    expect(budget.hasStoppedWork).toBe(false);
  });
});
