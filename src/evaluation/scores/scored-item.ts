import type { ScoreOutcome } from '../scorers';

/** How much the samples of one subject differ. */
export interface SampleSpread {
  /** Number of samples. */
  count: number;
  /** Number of samples that failed. */
  failed_count: number;
  /** The scores of the answered samples, in order. */
  scores: number[];
  /** Their sample standard deviation (n − 1). Null for fewer than two. */
  spread: number | null;
}

/** The outcome of scoring one target, as it is stored and returned. */
export interface ScoredItem {
  /** Finite; absent if the scorer abstained or failed. */
  score?: number;
  choice?: string;
  confidence?: number;
  probabilities?: Record<string, number>;
  answers?: Record<string, unknown>;
  reasoning?: string;
  backend?: string;
  /** The model that answered, by its name at the provider. Several models of the samples are joined by commas. */
  model?: string;
  /**
   * Identifies what judged: SHA-256 of the canonical JSON of the definition, the backend, and the provider's kind, base URL
   * and model, hexadecimal. Absent if no judge answered.
   */
  judge_digest?: string;
  /** Why there is no score. Excludes `score`, because a failure is not a score of 0. */
  error?: string;
  /**
   * With a score: the scorer saw only a part of a transcript. With an error: the input, output or expected value was too large
   * to be shown whole.
   */
  is_truncated?: boolean;
  elapsed_ms: number;
  /** Cost of asking the judge, in US dollars. */
  cost_usd?: number;
  /** SHA-256 of the request to the judge, hexadecimal. */
  request_sha256?: string;
  /** Whether all answers came from the cache. */
  is_cached?: boolean;
  /** How much the samples differ, if there are several. */
  samples?: SampleSpread;
}

/** Maximum length of stored texts, in UTF-16 code units. */
const TEXT_MAX = 100_000;
const CHOICE_MAX = 255;

/** Converts the outcome of a code scorer to an item. */
export function itemOf(outcome: ScoreOutcome, elapsedMs: number): ScoredItem {
  const elapsed_ms = Math.max(0, Math.round(elapsedMs));
  if ('error' in outcome) return { error: storable(outcome.error, TEXT_MAX), elapsed_ms };
  const { score, label, reasoning, answers } = outcome;
  return {
    ...(score !== null && { score }),
    ...(label !== undefined && { choice: storable(label, CHOICE_MAX) }),
    ...(answers && { answers: storableJson(answers) as Record<string, unknown> }),
    ...(reasoning !== undefined && { reasoning: storable(reasoning, TEXT_MAX) }),
    elapsed_ms,
  };
}

/** Returns a text that PostgreSQL can store. Scripts and judges may return NUL characters and lone surrogates. */
export function storable(text: string, max: number): string {
  const short = text.length > max ? `${text.slice(0, max - 1)}…` : text;
  return short.replaceAll('\0', '\uFFFD').replace(LONE_SURROGATE, '\uFFFD');
}

const LONE_SURROGATE = /[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/g;

function storableJson(value: unknown): unknown {
  if (typeof value === 'string') return storable(value, TEXT_MAX);
  if (Array.isArray(value)) return value.map(storableJson);
  if (typeof value !== 'object' || value === null) return value;
  // fromEntries defines members, so that one named __proto__ is like any other
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [storable(name, TEXT_MAX), storableJson(member)]),
  );
}
