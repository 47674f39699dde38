import { costOf, type ModelPrices } from '../../telemetry';
import type { Usage } from '../formats/usage';
import type { CalledTarget } from '../models/model-directory';

/** Returns the cost of tokens of a target in US dollars, or null if its price or its tokens are unknown. */
export const costOfCall = (
  { upstream_model, price }: Pick<CalledTarget, 'upstream_model' | 'price'>,
  usage: Usage,
  prices: ModelPrices,
): number | null => costOf(upstream_model, usage, price ? { [upstream_model]: price } : prices.table);
