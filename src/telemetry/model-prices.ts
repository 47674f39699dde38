import { Injectable } from '@nestjs/common';
import { Environment } from '#platform/config';
import { isJsonObject } from '#platform/json';
import { costOf, type ModelPrice, type PriceTable } from './semantics/model-price';

/** The members of a price, and whether an entry must have them. */
const MEMBERS: Readonly<Record<keyof ModelPrice, 'required' | 'optional'>> = {
  input_usd_per_million: 'required',
  output_usd_per_million: 'required',
  cached_input_usd_per_million: 'optional',
  cache_write_usd_per_million: 'optional',
};

/** The price table of the environment. A wrong one stops the start, and names what is wrong in it. */
@Injectable()
export class ModelPrices {
  readonly table: PriceTable;

  constructor(environment: Environment) {
    this.table = readPriceTable(environment.MODEL_PRICES);
  }

  /** What tokens of a model cost, in US dollars; null where that is not known. */
  costOf(model: string, inputTokens: number | null, outputTokens: number | null): number | null {
    return costOf(model, { inputTokens, outputTokens }, this.table);
  }
}

/**
 * Checks `MODEL_PRICES`: an object of models, each with the prices of input and output and, where they differ, those of
 * tokens read from and written to the provider's cache; in US dollars per million tokens, 0 or more.
 */
export function readPriceTable(value: unknown): PriceTable {
  if (!isJsonObject(value)) throw invalid('must be a JSON object of prices by model');
  for (const [model, price] of Object.entries(value)) {
    if (!isJsonObject(price)) throw invalid(`${shown(model)} must be an object`);
    for (const [member, need] of Object.entries(MEMBERS)) {
      if (need === 'optional' && !Object.hasOwn(price, member)) continue;
      const amount = price[member];
      if (typeof amount !== 'number' || !Number.isFinite(amount) || amount < 0) {
        throw invalid(`${shown(model)} needs ${member}, a number that is 0 or more`);
      }
    }
    const unknown = Object.keys(price).find((member) => !Object.hasOwn(MEMBERS, member));
    if (unknown !== undefined) throw invalid(`${shown(model)} has no member ${shown(unknown)}`);
  }
  return value as unknown as PriceTable;
}

const invalid = (detail: string): Error =>
  new Error(`The environment is not valid.\n  MODEL_PRICES: ${detail}`);

const shown = (text: string): string => JSON.stringify(text.slice(0, 100));
