import { isJsonObject } from '#platform/json';
import { cutText, MAX_ERROR_LENGTH } from '../../definitions/limits';
import type { ScoreOutcome } from '../subject';
import { SOURCE_NAME } from './prelude';
import type { RawOutcome, Stop } from './quickjs.instance';

/** The limits of a run, for error texts. */
export interface ScriptBounds {
  timeoutMs: number;
  memoryMb: number;
}

/** The interpreter's error when it is out of memory, or `null` if there is no memory even for the error. */
const OUT_OF_MEMORY = /^(InternalError: out of memory|null)$/;

/** Reads the outcome of a script. Trusts nothing in it, because the script may have subverted the sandbox. */
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

/** Returns why a source cannot be a scorer, with the line. Null if it defines `score`. */
export function readCheckOutcome(raw: RawOutcome, bounds: ScriptBounds): string | null {
  if ('stop' in raw) return describeStop(raw.stop, bounds);
  if (raw.text === 'true') return null;
  return raw.text === 'false' ? 'the source defines no function score' : readError(raw, bounds);
}

/** Returns the error text of a run that was stopped from outside or by one of its limits. */
export function describeStop(stop: Stop, bounds: ScriptBounds): string {
  switch (stop) {
    case 'deadline':
      return `the scorer did not finish within ${bounds.timeoutMs} ms (timeout_ms)`;
    case 'memory':
      return `the scorer needs more than ${bounds.memoryMb} MB of memory (memory_mb)`;
    case 'stack':
      return 'the calls or expressions of the scorer are nested too deeply';
    case 'fault':
      return 'the scorer crashed the interpreter';
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
