import { copyOf, Fault, messageOf, toJson } from './json.js';
import type { HostedScorer, ScoreFunction, Scorer, ScorerCase } from './options.js';
import { withTimeout } from './call.js';

/** A score as a result stores it. */
export type StoredScore =
  | number
  | boolean
  | null
  | { score: number | boolean | null; label?: string; comment?: string; metadata?: Record<string, unknown> };
export type Scores = Record<string, StoredScore>;

/** The scorers of a run: those that run here, by name, and the names of those that the service runs. */
export interface SplitScorers {
  local: Map<string, ScoreFunction<unknown, unknown, unknown>>;
  hosted: string[];
}

const isHosted = (scorer: object): scorer is HostedScorer => 'hosted' in scorer;

/** Splits the scorers of a run. Throws a `TypeError` for one without a name, and for two with the same name. */
export function splitScorers<I, O, E>(scorers: readonly Scorer<I, O, E>[]): SplitScorers {
  const split: SplitScorers = { local: new Map(), hosted: [] };
  for (const scorer of scorers) {
    if (typeof scorer === 'object' && isHosted(scorer)) {
      if (!split.hosted.includes(scorer.hosted)) split.hosted.push(scorer.hosted);
      continue;
    }
    const { name } = scorer;
    const score = typeof scorer === 'function' ? scorer : scorer.score;
    if (typeof name !== 'string' || name === '' || typeof score !== 'function') {
      throw new TypeError(
        'A scorer needs a name, which becomes the name of its score. Use a named function, or { name, score }.',
      );
    }
    if (split.local.has(name)) throw sameName(name);
    split.local.set(name, score as ScoreFunction<unknown, unknown, unknown>);
  }
  const taken = split.hosted.find((name) => split.local.has(name));
  if (taken !== undefined) throw sameName(taken);
  return split;
}

/** Returns the error for two scorers of a run with the same name. */
export const sameName = (name: string): TypeError =>
  new TypeError(`Two scorers have the name ${name}. Rename one of them.`);

/** Runs the local scorers over one output. A scorer that fails makes an `error`, and the other scores are kept. */
export async function runScorers(
  { local }: SplitScorers,
  one: Omit<ScorerCase, 'signal'>,
  timeoutMs: number,
  runSignal: AbortSignal,
): Promise<{ scores: Scores; error?: string }> {
  const scores: Scores = {};
  const errors: string[] = [];
  await Promise.all(
    Array.from(local, async ([name, score]) => {
      try {
        const given = await withTimeout(timeoutMs, runSignal, (signal) => score({ ...copyOf(one), signal }));
        scores[name] = toScore(given);
      } catch (error) {
        if (runSignal.aborted) throw error;
        errors.push(`Scorer ${name}: ${messageOf(error)}`);
      }
    }),
  );
  return errors.length > 0 ? { scores, error: errors.join('\n') } : { scores };
}

/** Returns what a scorer gave as a score. Throws if the value is not a score. */
function toScore(given: unknown): StoredScore {
  if (isScoreValue(given)) return given;
  if (typeof given !== 'object' || given === null) throw new Fault(`returned ${nameOf(given)}. ${EXPECTED}`);
  const { score, label, comment, metadata } = given as Record<string, unknown>;
  if (!isScoreValue(score))
    throw new Fault(`returned an object with the score ${nameOf(score)}. ${EXPECTED}`);
  const whole: Exclude<StoredScore, number | boolean | null> = { score };
  if (label !== undefined && label !== null) whole.label = asText('label', label).slice(0, 255);
  if (comment !== undefined && comment !== null) whole.comment = asText('comment', comment);
  if (metadata !== undefined && metadata !== null) whole.metadata = asObject(metadata);
  return whole;
}

const EXPECTED =
  'A score is a number, a boolean, null to abstain, or an object { score, label, comment, metadata }.';

const isScoreValue = (value: unknown): value is number | boolean | null =>
  value === null || typeof value === 'boolean' || Number.isFinite(value);

const nameOf = (value: unknown): string =>
  typeof value === 'number' || value === undefined ? String(value) : `a ${typeof value}`;

function asText(member: string, value: unknown): string {
  if (typeof value === 'string') return value;
  throw new Fault(`returned a ${member} that is not a string.`);
}

function asObject(metadata: unknown): Record<string, unknown> {
  const json = toJson(metadata);
  if (!json.startsWith('{')) throw new Fault('returned metadata that is not an object.');
  return JSON.parse(json) as Record<string, unknown>;
}
