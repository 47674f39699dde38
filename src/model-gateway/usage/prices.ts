import { costOf, type ModelPrices, type PriceTable } from '../../telemetry';
import type { Usage } from '../formats/usage';
import type { CalledTarget } from '../models/model-directory';

type PricedTarget = Pick<CalledTarget, 'upstream_model' | 'price' | 'provider'>;

/** The price tables of targets with their own price. Each table is created once, because lookups are cached per table. */
const tables = new WeakMap<object, PriceTable>();

/** Returns the cost of a target's tokens in US dollars, or null if the price or the tokens are unknown. */
export function costOfCall(target: PricedTarget, usage: Usage, prices: ModelPrices): number | null {
  const { upstream_model: model, provider } = target;
  const own = tableOf(target);
  return own ? costOf(model, usage, own) : prices.costOf({ ...usage, model, apiUrl: provider.base.href });
}

function tableOf({ upstream_model, price }: PricedTarget): PriceTable | undefined {
  if (price === null) return undefined;
  let table = tables.get(price);
  if (!table) tables.set(price, (table = { [upstream_model]: price }));
  return table;
}
