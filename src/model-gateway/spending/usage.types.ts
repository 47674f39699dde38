import type { Usage } from '../formats/usage';

/** One call to add to the usage. */
export interface UsedCall {
  orgId: string;
  workspaceId: string;
  principalId: string;
  /** The principal if it is a service account, which may have a budget. */
  serviceAccountId: string | null;
  modelId: string;
  /** Empty for an answer from the cache, and for a call that reached no provider. */
  providerId: string;
  upstreamModel: string;
  usage: Usage;
  /** Null if the price is unknown. */
  costUsd: number | null;
  isFailed: boolean;
  isCached: boolean;
}

/** Members of `model_usage` that are added up. */
export interface UsageCounts {
  call_count: number;
  failed_count: number;
  cached_count: number;
  unpriced_count: number;
  input_tokens: number;
  output_tokens: number;
  cached_input_tokens: number;
  cache_write_tokens: number;
  cost_usd: number;
}

export const USAGE_COUNTS = [
  'call_count',
  'failed_count',
  'cached_count',
  'unpriced_count',
  'input_tokens',
  'output_tokens',
  'cached_input_tokens',
  'cache_write_tokens',
  'cost_usd',
] as const satisfies readonly (keyof UsageCounts)[];
