import type { CalledModel, CalledTarget } from '../models/model-directory';

/**
 * Returns the targets of a model in the order in which a call tries them: as listed, or for `weighted` drawn by weight, each once.
 *
 * @param random source of randomness, from 0 to 1
 */
export function targetOrder(
  { strategy, targets }: Pick<CalledModel, 'strategy' | 'targets'>,
  random: () => number = Math.random,
): CalledTarget[] {
  if (strategy !== 'weighted') return [...targets];
  const left = [...targets];
  const order: CalledTarget[] = [];
  while (left.length > 0) {
    let point = random() * left.reduce((sum, { weight }) => sum + weight, 0);
    let index = left.findIndex(({ weight }) => (point -= weight) < 0);
    if (index < 0) index = left.length - 1;
    order.push(...left.splice(index, 1));
  }
  return order;
}
