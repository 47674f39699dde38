import type { SampleSpread } from '../judges/samples';
import type { ScoreOutcome } from '../scorers/engine/score-outcome';

/** What came of scoring one target, as it is kept and answered. Absent members have nothing to say. */
export interface ScoredItem {
  /** Finite; absent where the scorer abstained or failed. */
  score?: number;
  choice?: string;
  confidence?: number;
  probabilities?: Record<string, number>;
  answers?: Record<string, unknown>;
  reasoning?: string;
  backend?: string;
  model?: string;
  /** Why there is no score. Never together with one: a failure is not a score of 0. */
  error?: string;
  elapsed_ms: number;
  /** In US dollars: what asking the judge cost. */
  cost_usd?: number;
  /** SHA-256 of the request to the judge, hexadecimal. */
  request_sha256?: string;
  /** All of it was answered before, and nobody was asked. */
  is_cached?: boolean;
  /** How far the samples were apart, where there are several. */
  samples?: SampleSpread;
}

/** Characters of a text that are kept. */
const TEXT_MAX = 100_000;
const CHOICE_MAX = 255;

/** The item of a target that a code scorer was run on. */
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

/** A text that PostgreSQL can hold: scripts and judges may answer NUL characters and halves of surrogate pairs. */
export function storable(text: string, max: number): string {
  const kept = text.length > max ? `${text.slice(0, max - 1)}…` : text;
  return kept.replaceAll('\0', '\uFFFD').replace(LONE_SURROGATE, '\uFFFD');
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
