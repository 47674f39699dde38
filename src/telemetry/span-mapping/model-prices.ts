import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { Environment } from '#platform/config';
import { isJsonObject } from '#platform/json';
import { StartError } from '#platform/process';
import {
  defaultContextOf,
  defaultCostOf,
  defaultNameOf,
  type PricedModel,
  type TokenCounts,
} from './default-prices';

/** US dollars per million tokens. */
export interface ModelPrice {
  readonly input_usd_per_million: number;
  readonly output_usd_per_million: number;
  /** Input read from the provider's cache. Absent: the price of other input. */
  readonly cached_input_usd_per_million?: number;
  /** Input written to the provider's cache. Absent: the price of other input. */
  readonly cache_write_usd_per_million?: number;
}

/** A call of a model. */
export interface PricedCall extends TokenCounts, Omit<PricedModel, 'model'> {
  readonly model: string | null;
}

/**
 * Prices by model name. An entry also applies to the versions of its model: `gpt-4o` applies to `gpt-4o-2024-08-06` and
 * `gpt-4o:latest`. It does not apply to `gpt-4o-mini`, which costs a sixteenth, because an unknown price is better than a wrong
 * one. An entry that ends in `-`, `:`, `@`, `_` or `/` applies to all names with that prefix.
 */
export type PriceTable = Readonly<Record<string, ModelPrice>>;

/** The members of a price, and whether they are required. */
const MEMBERS: Readonly<Record<keyof ModelPrice, 'required' | 'optional'>> = {
  input_usd_per_million: 'required',
  output_usd_per_million: 'required',
  cached_input_usd_per_million: 'optional',
  cache_write_usd_per_million: 'optional',
};

/**
 * The prices of models: from `MODEL_PRICES`, else from public providers. If `MODEL_PRICES` is invalid, the service does not
 * start, and the error names the invalid member.
 */
@Injectable()
export class ModelPrices {
  /** The prices of `MODEL_PRICES`. */
  readonly table: PriceTable;

  constructor(environment: Environment) {
    this.table = readPriceTable(environment.MODEL_PRICES);
  }

  /**
   * Returns the cost of a model call in US dollars; null if the price or both token counts are unknown.
   *
   * @param at the time of the call, because providers change their prices
   */
  costOf(call: PricedCall, at = new Date()): number | null {
    const { model, provider, apiUrl } = call;
    if (!isPriceable(model, call)) return null;
    return costOf(model, call, this.table) ?? defaultCostOf({ model, provider, apiUrl }, call, at);
  }

  /** Returns the maximum tokens of a model's request and answer together; null if it is unknown. */
  contextOf(model: PricedModel): number | null {
    return model.model.length > MAX_NAME_LENGTH ? null : defaultContextOf(model);
  }

  /** Returns the name under which a model is in the price table; null if it is not in it. */
  entryOf(model: string): string | null {
    if (model.length > MAX_NAME_LENGTH) return null;
    return cachedEntryOf(model, this.table)?.name ?? defaultNameOf(model);
  }

  /**
   * Returns the name of a requested model that did not answer: without the prefix of a gateway and without `latest`, if the price
   * table has the rest. A name of a version stays.
   */
  requestedName(model: string): string {
    const name = model.slice(model.lastIndexOf('/') + 1).replace(/[-:@_]latest$/, '');
    return name === model || name === '' || this.entryOf(name) === null ? model : name;
  }

  /** Returns whether two names are one model, and the first names no version: calls that asked for it may be answered as the second. */
  mayAnswerAs(requested: string, answered: string): boolean {
    const entry = this.entryOf(requested);
    if (isVersionOf(requested, answered)) return true;
    return entry !== null && !isVersionOf(entry, requested) && this.entryOf(answered) === entry;
  }
}

/** Validates `MODEL_PRICES`, a JSON object of prices by model. */
function readPriceTable(value: unknown): PriceTable {
  if (!isJsonObject(value)) throw invalid('must be a JSON object of prices by model');
  for (const [model, price] of Object.entries(value)) {
    if (!isJsonObject(price)) throw invalid(`${quoted(model)} must be an object`);
    for (const [member, need] of Object.entries(MEMBERS)) {
      if (need === 'optional' && !Object.hasOwn(price, member)) continue;
      const amount = price[member];
      if (typeof amount !== 'number' || !Number.isFinite(amount) || amount < 0) {
        throw invalid(`${member} of ${quoted(model)} must be a number of 0 or more`);
      }
    }
    const unknown = Object.keys(price).find((member) => !Object.hasOwn(MEMBERS, member));
    if (unknown !== undefined) throw invalid(`${quoted(model)} must not have the member ${quoted(unknown)}`);
  }
  return value as unknown as PriceTable;
}

const invalid = (detail: string): StartError => new StartError(`MODEL_PRICES: ${detail}.`);

const quoted = (text: string): string => JSON.stringify(text.slice(0, 100));

/** Longer texts are not model names. Trying all their prefixes would take quadratic time. */
const MAX_NAME_LENGTH = 256;

const SEPARATORS = new Set(['-', ':', '@', '_', '/']);

/** Suffix of a version: numbers, dates, `v2`, `latest`. `gpt-4.1` is not a version of `gpt-4`. */
const VERSION = /^[-:@_/](?:v?\d+|latest)(?:[-:@_/.](?:v?\d+|latest))*$/;

/**
 * Returns the cost of a model's tokens in US dollars. Uses the longest entry that matches the name, else the longest that
 * matches the part after the last slash (gateways name models like `openai/gpt-4o`). Reasoning tokens are output tokens.
 *
 * @returns null if the model is not in the table or both counts are unknown; if one count is known, the cost of that one
 */
export function costOf(model: string | null, tokens: TokenCounts, prices: PriceTable): number | null {
  if (!isPriceable(model, tokens)) return null;
  const price = cachedEntryOf(model, prices)?.price;
  if (!price) return null;
  return (inputCost(tokens, price) + (tokens.outputTokens ?? 0) * price.output_usd_per_million) / 1e6;
}

const isPriceable = (model: string | null, tokens: TokenCounts): model is string =>
  model !== null &&
  model.length <= MAX_NAME_LENGTH &&
  (tokens.inputTokens !== null || tokens.outputTokens !== null);

/**
 * Returns the cost of input. Cache tokens are part of the input tokens (OpenTelemetry, OpenInference). If they exceed the input,
 * the sender forwarded the counts of a provider that reports them separately, such as Anthropic. They are then added to the
 * input.
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

/** An entry of a price table. */
interface PriceEntry {
  name: string;
  price: ModelPrice;
}

/** Cached entries by name for each table. Most spans name one of a few models. */
const caches = new WeakMap<PriceTable, LRUCache<string, { entry: PriceEntry | undefined }>>();
const CACHED_NAMES = 1_000;

function cachedEntryOf(model: string, prices: PriceTable): PriceEntry | undefined {
  let cache = caches.get(prices);
  if (!cache) caches.set(prices, (cache = new LRUCache({ max: CACHED_NAMES })));
  let cached = cache.get(model);
  if (!cached) {
    const entry = entryOf(model, prices) ?? entryOf(model.slice(model.lastIndexOf('/') + 1), prices);
    cache.set(model, (cached = { entry }));
  }
  return cached.entry;
}

/** Returns whether a name is that of a version of a model: `gpt-4o-2024-08-06` of `gpt-4o`. */
const isVersionOf = (model: string, name: string): boolean =>
  name.startsWith(model) && VERSION.test(name.slice(model.length));

/** Returns the entry of the name or of its longest prefix in the table. */
function entryOf(model: string, prices: PriceTable): PriceEntry | undefined {
  for (let end = model.length; end > 0; end -= 1) {
    const isWhole = end === model.length || SEPARATORS.has(model[end - 1] as string);
    if (!isWhole && !SEPARATORS.has(model[end] as string)) continue;
    const name = model.slice(0, end);
    if (Object.hasOwn(prices, name) && (isWhole || VERSION.test(model.slice(end)))) {
      return { name, price: prices[name]! };
    }
  }
  return undefined;
}
