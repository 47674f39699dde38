import { messageOf, toJson } from './json.js';
import type { EvaluateOptions, Gate, GateRule } from './options.js';

/** Returns what a value must be if it is not, else null. */
type Check = (value: unknown) => string | null;

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const check =
  (expected: string, test: (value: unknown) => boolean): Check =>
  (value) =>
    test(value) ? null : `must be ${expected}`;
const text = check('a string that is not empty', (value) => typeof value === 'string' && value !== '');
const flag = check('true or false', (value) => typeof value === 'boolean');
const callable = check('a function', (value) => typeof value === 'function');
const list = check('a list', Array.isArray);
const object = check('an object', isObject);
const number = check('a number', Number.isFinite);
const whole = (least: number): Check =>
  check(
    `a whole number of at least ${least}`,
    (value) => Number.isInteger(value) && (value as number) >= least,
  );
const milliseconds = check(
  'a positive number of milliseconds',
  (value) => typeof value === 'number' && value > 0,
);
const json: Check = (value) => {
  if (!isObject(value)) return 'must be an object';
  try {
    toJson(value);
    return null;
  } catch (error) {
    return messageOf(error);
  }
};

const OPTIONS: Record<keyof EvaluateOptions, Check> = {
  name: text,
  data: () => null, // checked when it is read
  task: callable,
  scorers: list,
  gate: checkGate,
  trials: whole(1),
  concurrency: whole(1),
  subject: object,
  config: json,
  metadata: json,
  tags: list,
  baseline: text,
  experimentName: text,
  dataset: text,
  caseIdColumn: text,
  mapping: object,
  runKey: text,
  resume: flag,
  retries: whole(0),
  timeoutMs: milliseconds,
  scorerTimeoutMs: milliseconds,
  retryForMs: check('a number of milliseconds', (value) => typeof value === 'number' && value >= 0),
  client: check('a Client', (value) => isObject(value) && isObject(value['api'])),
  signal: check('an AbortSignal', (value) => isObject(value) && typeof value['aborted'] === 'boolean'),
  onProgress: callable,
  report: check("true, false or 'auto'", (value) => typeof value === 'boolean' || value === 'auto'),
  spoolDir: text,
};

const RULE: Record<keyof GateRule, Check> = {
  scorer: text,
  min_mean: number,
  max_regression: number,
  min_count: number,
  min_coverage: number,
  max_regressed_cases: number,
  max_case_regression: number,
  min_pass_at_k: object,
  min_pass_hat_k: object,
  max_error_rate: number,
  max_p95_duration_ms: number,
  max_mean_cost_usd: number,
  confident: flag,
};

const GATE: Record<keyof Exclude<Gate, readonly GateRule[]>, Check> = {
  rules: list,
  require_baseline: flag,
  allow_version_mismatch: flag,
  min_comparable: number,
};

/** Checks the names and the types of the options. Throws a `TypeError` that says what to change. */
export function checkOptions(options: EvaluateOptions): void {
  const { name, data, task } = options;
  if (typeof name !== 'string' || name === '') throw new TypeError('evaluate needs a name.');
  if (data === undefined || data === null) throw new TypeError('evaluate needs data.');
  if (typeof task !== 'function') throw new TypeError('evaluate needs a task, which is a function.');
  const fault = faultIn(options, OPTIONS, 'evaluate', 'option');
  if (fault !== null) throw new TypeError(`${fault}.`);
}

/** The service checks the values: only it knows the scorers and the bounds. */
function checkGate(gate: unknown): string | null {
  if (!isObject(gate) && !Array.isArray(gate)) return 'must be a list of rules, or an object { rules }';
  if (isObject(gate)) {
    if (gate['rules'] === undefined) return 'has no rules. Pass a list of rules, or an object { rules }';
    const fault = faultIn(gate, GATE, 'it', 'member');
    if (fault !== null) return `is invalid: ${fault}`;
  }
  const rules = (Array.isArray(gate) ? gate : gate['rules']) as unknown[];
  for (const [index, rule] of rules.entries()) {
    const fault = isObject(rule) ? faultIn(rule, RULE, 'it', 'member') : 'it must be an object';
    if (fault !== null) return `is invalid in rule ${index + 1}: ${fault}`;
  }
  return null;
}

/** Returns what is wrong with the members of an object, or null. A member that is undefined counts as absent. */
function faultIn(given: object, checks: Record<string, Check>, owner: string, kind: string): string | null {
  for (const [name, value] of Object.entries(given)) {
    if (!Object.hasOwn(checks, name)) {
      const similar = closest(name, Object.keys(checks));
      return `${owner} has no ${kind} ${name}${similar === undefined ? '' : ` (did you mean ${similar}?)`}`;
    }
    const fault = value === undefined ? null : checks[name]!(value);
    if (fault !== null) return `${name} ${fault}`;
  }
  return null;
}

/** Returns the name that a misspelt one most likely means. */
function closest(name: string, names: readonly string[]): string | undefined {
  const [best] = names
    .map((known) => ({ known, edits: distance(name.toLowerCase(), known.toLowerCase()) }))
    .sort((a, b) => a.edits - b.edits);
  return best && best.edits <= Math.min(3, name.length / 2) ? best.known : undefined;
}

/** Returns how many letters must be added, removed or replaced to turn one text into the other. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const replaced = row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, row[j]! + 1, next[j - 1]! + 1));
    }
    row = next;
  }
  return row[b.length]!;
}
