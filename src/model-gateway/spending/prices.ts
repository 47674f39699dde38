import { costOf, type ModelPrices, type PriceTable } from '../../telemetry';
import type { Usage } from '../formats/usage';
import type { CalledTarget } from '../models/model-directory';

type PricedTarget = Pick<CalledTarget, 'upstream_model' | 'price'>;

/** The price tables of targets with a price of their own. Prices are looked up in caches of their tables. */
const tables = new WeakMap<object, PriceTable>();

/** Returns the cost of tokens of a target in US dollars, or null if its price or its tokens are unknown. */
export const costOfCall = (target: PricedTarget, usage: Usage, prices: ModelPrices): number | null =>
  costOf(target.upstream_model, usage, tableOf(target) ?? prices.table);

function tableOf({ upstream_model, price }: PricedTarget): PriceTable | undefined {
  if (price === null) return undefined;
  let table = tables.get(price);
  if (!table) tables.set(price, (table = { [upstream_model]: price }));
  return table;
}
