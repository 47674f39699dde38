/** US dollars per million tokens. */
export interface ModelPrice {
  readonly input_usd_per_million: number;
  readonly output_usd_per_million: number;
}

/**
 * Prices by the name of a model, or by the beginning of names: `gpt-4o` is also the price of `gpt-4o-2024-08-06`, but
 * not of `gpt-4`, `gpt-4.1` or `gpt-4omni`, because a name goes on only after one of `-`, `:`, `@`, `_` and `/`. A
 * `gpt-4o-mini` needs its own entry, or it costs what `gpt-4o` does.
 */
export type PriceTable = Readonly<Record<string, ModelPrice>>;

/** Longer names are no names of models; looking for their beginnings would take time with the square of the length. */
const MAX_NAME_LENGTH = 256;

const SEPARATORS = new Set(['-', ':', '@', '_', '/']);

/**
 * What so many tokens of the model cost, in US dollars. The longest entry that fits is used; where none does, one
 * that fits the name behind its last slash (`openai/gpt-4o`, as gateways name models).
 *
 * @returns null when the model is not in the table or the span tells no tokens; one count alone is priced alone
 */
export function costOf(
  model: string | null,
  inputTokens: number | null,
  outputTokens: number | null,
  prices: PriceTable,
): number | null {
  if (model === null || model.length > MAX_NAME_LENGTH || (inputTokens === null && outputTokens === null)) {
    return null;
  }
  const price = priceOf(model, prices) ?? priceOf(model.slice(model.lastIndexOf('/') + 1), prices);
  if (!price) {
    return null;
  }
  const input = (inputTokens ?? 0) * price.input_usd_per_million;
  const output = (outputTokens ?? 0) * price.output_usd_per_million;
  return (input + output) / 1e6;
}

/** What a span cost: what it says itself, else its tokens by the price table. */
export function costOfSpan(
  figures: {
    readonly model: string | null;
    readonly inputTokens: number | null;
    readonly outputTokens: number | null;
    readonly costUsd: number | null;
  },
  prices: PriceTable,
): number | null {
  return figures.costUsd ?? costOf(figures.model, figures.inputTokens, figures.outputTokens, prices);
}

/** Tries the name and its beginnings, the longest first, instead of going through the table for every span. */
function priceOf(model: string, prices: PriceTable): ModelPrice | undefined {
  for (let end = model.length; end > 0; end -= 1) {
    const atSeparator =
      end === model.length ||
      SEPARATORS.has(model[end] as string) ||
      SEPARATORS.has(model[end - 1] as string);
    const name = model.slice(0, end);
    if (atSeparator && Object.hasOwn(prices, name)) {
      return prices[name];
    }
  }
  return undefined;
}
