import type * as genaiPrices from '@pydantic/genai-prices';
import type { ModelInfo, Provider, Usage } from '@pydantic/genai-prices';
import { LRUCache } from 'lru-cache';
import { createRequire } from 'node:module';

// Prices of the models of public providers, from the data that the library includes. The library could also fetch newer data
// (`updatePrices`). The service does not call that, so no lookup opens a connection.

/** The tokens of a call; null or absent if they are unknown. */
export interface TokenCounts {
  /** Includes tokens of the provider's cache. */
  readonly inputTokens: number | null;
  readonly outputTokens: number | null;
  readonly cachedInputTokens?: number | null;
  readonly cacheWriteTokens?: number | null;
  /** Part of the output tokens. Only the default prices distinguish it. */
  readonly reasoningTokens?: number | null;
}

/** A model to look up. Known providers have their own prices for the models of others. */
export interface PricedModel {
  model: string;
  /** The provider as a span or a setting names it, such as `openai`, `aws.bedrock` or `google.vertex.chat`. */
  provider?: string | null;
  /** The base URL of the provider's API. Only used without `provider`. */
  apiUrl?: string | null;
}

/** Number of cached lookups, including those that found no price. Most spans name one of a few models. */
const CACHED_MODELS = 1_000;

/** Longer texts are not names of providers. */
const MAX_PROVIDER_LENGTH = 256;

/** Loaded by the first lookup, because it takes 20 MiB. */
const library = (): typeof genaiPrices =>
  createRequire(__filename)('@pydantic/genai-prices') as typeof genaiPrices;

/** The name of the only model of a cached provider. */
const CACHED_MODEL = 'cached';

/** Returns the library's name of a model; null if the library does not know the model. */
export const defaultNameOf = (model: string): string | null => cachedModel({ model })?.name ?? null;

/** Returns the price of usage at a time. */
type Price = (usage: CallUsage, at: Date) => number;

/** A model of the library. */
interface KnownModel {
  name: string;
  price: Price;
  /** Maximum tokens of a request and its answer together; null if the library does not know it. */
  contextTokens: number | null;
}

/** The models of the library by request, or null if it does not know the model. */
const cache = new LRUCache<string, { known: KnownModel | null }>({ max: CACHED_MODELS });

/**
 * Returns the cost of a model's tokens in US dollars, as the library computes it: with tiers, with the prices of cached input
 * and of reasoning, and with the prices that were valid at a time. The library takes 15 µs to find a model, and 5 µs for the
 * price of a known one. Called for every span, even the latter would cost a tenth of the throughput, so prices that never
 * change are cached as factors.
 *
 * @returns null if the library does not know the model
 */
export function defaultCostOf(model: PricedModel, tokens: TokenCounts, at: Date): number | null {
  return cachedModel(model)?.price(usageOf(tokens), at) ?? null;
}

/** Returns the maximum tokens of a request and its answer together; null if the library does not know it. */
export const defaultContextOf = (model: PricedModel): number | null =>
  cachedModel(model)?.contextTokens ?? null;

/** Token counts in the form that the library uses. */
interface CallUsage extends Usage {
  input_tokens: number;
  cache_read_tokens: number;
  cache_write_tokens: number;
  output_tokens: number;
  output_reasoning_tokens: number;
}

/**
 * Converts token counts for the library, which counts cache tokens as input and reasoning tokens as output, and rejects a part
 * that is larger than the total. If the cache tokens exceed the input, the sender counted them separately.
 */
function usageOf(tokens: TokenCounts): CallUsage {
  const cached = tokens.cachedInputTokens ?? 0;
  const written = tokens.cacheWriteTokens ?? 0;
  const input = tokens.inputTokens ?? 0;
  const output = tokens.outputTokens ?? 0;
  return {
    input_tokens: cached + written <= input ? input : input + cached + written,
    cache_read_tokens: cached,
    cache_write_tokens: written,
    output_tokens: output,
    output_reasoning_tokens: Math.min(tokens.reasoningTokens ?? 0, output),
  };
}

function cachedModel({ model, provider, apiUrl }: PricedModel): KnownModel | null {
  const key = `${provider ?? ''}\n${provider == null ? (apiUrl ?? '') : ''}\n${model}`;
  let cached = cache.get(key);
  if (!cached) cache.set(key, (cached = { known: lookUp({ model, provider, apiUrl }) }));
  return cached.known;
}

/**
 * Looks up a model. A known provider has its own price. Otherwise, the name of the model implies the provider. A
 * prefix may also imply it: gateways name models like `openai/gpt-4o`, and the library parses such names for the provider
 * `litellm`.
 */
function lookUp({ model, provider, apiUrl }: PricedModel): KnownModel | null {
  const { calcPrice } = library();
  const providerEntry = provider == null ? findByUrl(apiUrl) : findByName(provider);
  const match =
    (providerEntry && calcPrice({}, model, { providerId: providerEntry.id })) ??
    (providerEntry && !model.includes('/') ? null : calcPrice({}, model, { providerId: 'litellm' }));
  if (!match) return null;
  const price = priceOf(withOnlyModel(match.provider, match.model), match.model);
  return { name: match.model.id, price, contextTokens: match.model.context_window ?? null };
}

const findByName = (provider: string): Provider | undefined =>
  provider === '' || provider.length > MAX_PROVIDER_LENGTH
    ? undefined
    : library().findProvider({ providerId: provider });

const findByUrl = (apiUrl: string | null | undefined): Provider | undefined =>
  apiUrl == null ? undefined : library().findProvider({ providerApiUrl: apiUrl });

/** Returns a provider with a single model, because matching a name against all models takes longer than pricing. */
const withOnlyModel = (provider: Provider, model: ModelInfo): Provider => ({
  id: provider.id,
  name: provider.name,
  api_pattern: provider.api_pattern,
  models: [{ id: model.id, match: { equals: CACHED_MODEL }, prices: model.prices }],
});

function priceOf(provider: Provider, { prices }: ModelInfo): Price {
  const { calcPrice } = library();
  const price: Price = (usage, timestamp) =>
    calcPrice(usage, CACHED_MODEL, { provider, timestamp })!.total_price;
  const isConstant = !Array.isArray(prices) && Object.values(prices).every((one) => typeof one !== 'object');
  return isConstant ? toFactors(price) : price;
}

/** Returns the same price as a sum with constant factors, which are computed once with the library. */
function toFactors(price: Price): Price {
  const now = new Date();
  const costOf = (tokens: TokenCounts): number => price(usageOf(tokens), now);
  const million = 1e6;
  const perCall = costOf({ inputTokens: 0, outputTokens: 0 });
  const factor = (tokens: Partial<TokenCounts>): number =>
    (costOf({ inputTokens: 0, outputTokens: 0, ...tokens }) - perCall) / million;
  const input = factor({ inputTokens: million });
  const cached = factor({ inputTokens: million, cachedInputTokens: million });
  const written = factor({ inputTokens: million, cacheWriteTokens: million });
  const output = factor({ outputTokens: million });
  const reasoning = factor({ outputTokens: million, reasoningTokens: million });
  return (usage) =>
    perCall +
    (usage.input_tokens - usage.cache_read_tokens - usage.cache_write_tokens) * input +
    usage.cache_read_tokens * cached +
    usage.cache_write_tokens * written +
    (usage.output_tokens - usage.output_reasoning_tokens) * output +
    usage.output_reasoning_tokens * reasoning;
}
