import type { CalledModel, CalledTarget } from '../models/model-directory';

/**
 * Returns the targets of a model in the order in which a call tries them: as listed, or for `weighted` in a random order, in
 * proportion to their weights.
 *
 * @param random returns a random number from 0 to 1
 */
export function targetOrder(
  { strategy, targets }: Pick<CalledModel, 'strategy' | 'targets'>,
  random: () => number = Math.random,
): CalledTarget[] {
  if (strategy !== 'weighted') return [...targets];
  const remaining = [...targets];
  const order: CalledTarget[] = [];
  while (remaining.length > 0) {
    let point = random() * remaining.reduce((sum, { weight }) => sum + weight, 0);
    let index = remaining.findIndex(({ weight }) => (point -= weight) < 0);
    if (index < 0) index = remaining.length - 1;
    order.push(...remaining.splice(index, 1));
  }
  return order;
}
