import { isJsonObject } from '#platform/json';
import { cutText, MAX_ERROR_LENGTH } from '../limits';
import type { ScoreOutcome } from '../score-outcome';
import { SOURCE_NAME } from './prelude';
import type { RawOutcome, Stop } from './quickjs.instance';

/** The bounds of a run, as its error texts name them. */
export interface ScriptBounds {
  timeoutMs: number;
  memoryMb: number;
}

/** What the interpreter throws when it has no memory, and when it has not even enough to make that error. */
const OUT_OF_MEMORY = /^(InternalError: out of memory|null)$/;

/** Reads what a run of a script answered. Nothing of it is trusted: the sandbox may have been talked into anything. */
export function readScriptOutcome(raw: RawOutcome, bounds: ScriptBounds): ScoreOutcome {
  if ('stop' in raw) return { error: describeStop(raw.stop, bounds) };
  if (!raw.text.startsWith('=')) return { error: readError(raw, bounds) };
  const value: unknown = JSON.parse(raw.text.slice(1));
  if (!isJsonObject(value)) return { error: 'the result is not an object' };
  const { score, label, reasoning, answers } = value;
  if (score !== null && !(typeof score === 'number' && Number.isFinite(score))) {
    return { error: 'the score is not a finite number' };
  }
  return {
    score,
    ...(typeof label === 'string' && { label }),
    ...(typeof reasoning === 'string' && { reasoning }),
    ...(isJsonObject(answers) && { answers }),
  };
}

/** Why a source cannot be a scorer, with the line; null where it defines `score`. */
export function readCheckOutcome(raw: RawOutcome, bounds: ScriptBounds): string | null {
  if ('stop' in raw) return describeStop(raw.stop, bounds);
  if (raw.text === 'true') return null;
  return raw.text === 'false' ? 'the source defines no function score' : readError(raw, bounds);
}

/** The error text of a run that was stopped from outside or by one of its bounds. */
export function describeStop(stop: Stop, bounds: ScriptBounds): string {
  switch (stop) {
    case 'deadline':
      return `the scorer did not finish within ${bounds.timeoutMs} ms (timeout_ms)`;
    case 'memory':
      return `the scorer needs more than ${bounds.memoryMb} MB of memory (memory_mb)`;
    case 'stack':
      return 'the scorer calls itself, or is nested, too deeply';
    case 'fault':
      return 'the scorer made the interpreter fail';
  }
}

function readError(raw: { text: string; isExhausted: boolean }, bounds: ScriptBounds): string {
  const described: unknown = JSON.parse(raw.text.slice(1));
  const [message = '', stack = ''] = String(described).split('\u0000', 2);
  if (raw.isExhausted && OUT_OF_MEMORY.test(message)) return describeStop('memory', bounds);
  const place = LOCATION.exec(stack);
  return cutText(place ? `${message} (line ${place[1]}, column ${place[2]})` : message, MAX_ERROR_LENGTH);
}

const LOCATION = new RegExp(`\\b${SOURCE_NAME.replace('.', '\\.')}:(\\d+):(\\d+)`);
