import { LRUCache } from 'lru-cache';

/** US dollars per million tokens. */
export interface ModelPrice {
  readonly input_usd_per_million: number;
  readonly output_usd_per_million: number;
  /** Of input that the provider had in its cache; absent: as other input. */
  readonly cached_input_usd_per_million?: number;
  /** Of input that the provider put into its cache; absent: as other input. */
  readonly cache_write_usd_per_million?: number;
}

/** The tokens of a call; null or absent where nobody tells them. */
export interface TokenCounts {
  /** Those of the provider's cache are among them. */
  readonly inputTokens: number | null;
  readonly outputTokens: number | null;
  readonly cachedInputTokens?: number | null;
  readonly cacheWriteTokens?: number | null;
}

/**
 * Prices by the name of a model, which is also the price of its versions: `gpt-4o` that of `gpt-4o-2024-08-06` and of
 * `gpt-4o:latest`, but not of `gpt-4o-mini`, which costs a sixteenth: a price that is not known is better than a wrong
 * one. An entry that ends in one of `-`, `:`, `@`, `_` and `/` is the price of all names that begin so.
 */
export type PriceTable = Readonly<Record<string, ModelPrice>>;

/** Longer names are no names of models; looking for their beginnings would take time with the square of the length. */
const MAX_NAME_LENGTH = 256;

const SEPARATORS = new Set(['-', ':', '@', '_', '/']);

/** How a name goes on that is of a version: numbers, dates, `v2`, `latest`. `gpt-4.1` is no version of `gpt-4`. */
const VERSION = /^[-:@_/](?:v?\d+|latest)(?:[-:@_/.](?:v?\d+|latest))*$/;

/**
 * What so many tokens of the model cost, in US dollars. The longest entry that fits is used; where none does, one
 * that fits the name behind its last slash (`openai/gpt-4o`, as gateways name models). Tokens of reasoning are output,
 * and cost as much.
 *
 * @returns null when the model is not in the table or neither input nor output is told; one alone is priced alone
 */
export function costOf(model: string | null, tokens: TokenCounts, prices: PriceTable): number | null {
  const isTold = tokens.inputTokens !== null || tokens.outputTokens !== null;
  if (model === null || model.length > MAX_NAME_LENGTH || !isTold) {
    return null;
  }
  const price = rememberedPriceOf(model, prices);
  if (!price) {
    return null;
  }
  return (inputCost(tokens, price) + (tokens.outputTokens ?? 0) * price.output_usd_per_million) / 1e6;
}

/**
 * Tokens of the cache are among those of the input, as OpenTelemetry and OpenInference want it. Where they are more
 * than the input, the sender passed on the counts of a provider that tells them apart, as Anthropic does, and they come
 * on top.
 */
function inputCost(tokens: TokenCounts, price: ModelPrice): number {
  const input = tokens.inputTokens ?? 0;
  const cached = tokens.cachedInputTokens ?? 0;
  const written = tokens.cacheWriteTokens ?? 0;
  const others = cached + written <= input ? input - cached - written : input;
  return (
    others * price.input_usd_per_million +
    cached * (price.cached_input_usd_per_million ?? price.input_usd_per_million) +
    written * (price.cache_write_usd_per_million ?? price.input_usd_per_million)
  );
}

/** What a span cost: what it says itself, else its tokens by the price table. */
export function costOfSpan(
  figures: TokenCounts & { readonly model: string | null; readonly costUsd: number | null },
  prices: PriceTable,
): number | null {
  return figures.costUsd ?? costOf(figures.model, figures, prices);
}

/** Tries the name and its beginnings, the longest first, instead of going through the table for every span. */
/** Of each table, the prices of the names that were asked for: every span asks for one of a few. */
const remembered = new WeakMap<PriceTable, LRUCache<string, { price: ModelPrice | undefined }>>();
const REMEMBERED = 1_000;

function rememberedPriceOf(model: string, prices: PriceTable): ModelPrice | undefined {
  let ofTable = remembered.get(prices);
  if (!ofTable) remembered.set(prices, (ofTable = new LRUCache({ max: REMEMBERED })));
  let found = ofTable.get(model);
  if (!found) {
    const price = priceOf(model, prices) ?? priceOf(model.slice(model.lastIndexOf('/') + 1), prices);
    ofTable.set(model, (found = { price }));
  }
  return found.price;
}

function priceOf(model: string, prices: PriceTable): ModelPrice | undefined {
  for (let end = model.length; end > 0; end -= 1) {
    const isWhole = end === model.length || SEPARATORS.has(model[end - 1] as string);
    if (!isWhole && !SEPARATORS.has(model[end] as string)) continue;
    const name = model.slice(0, end);
    if (Object.hasOwn(prices, name) && (isWhole || VERSION.test(model.slice(end)))) {
      return prices[name];
    }
  }
  return undefined;
}
