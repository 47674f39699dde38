import { MAX_VALUE_DEPTH, type OtlpAttributes, type OtlpValue, setMember } from '#otlp';

type Branch = Map<string, Branch | OtlpValue>;

/** Maximum length of a path. Longer names are not split into steps, which could be millions. */
const PATH_MAX = 1_024;

/** A step that is an index. A step with more digits is a name. */
const INDEX = /^\d{1,9}$/;

/**
 * Rebuilds a list that was flattened into attributes `<name>.<index>.<path>`, such as `llm.input_messages.0.message.role`,
 * because attributes of OpenTelemetry could not hold objects.
 *
 * Items are sorted by index, without gaps. A step in `itemNames` right after an index is dropped: `message.role` becomes `role`.
 *
 * @returns undefined if there is no such attribute
 */
export function flattenedList(
  attributes: OtlpAttributes,
  name: string,
  itemNames: readonly string[],
): OtlpValue | undefined {
  const prefix = `${name}.`;
  let root: Branch | undefined;
  for (const key of Object.keys(attributes)) {
    if (!key.startsWith(prefix) || key.length - prefix.length > PATH_MAX) continue;
    const steps = stepsOf(key.slice(prefix.length), itemNames);
    if (INDEX.test(steps[0] as string) && steps.length <= MAX_VALUE_DEPTH) {
      root ??= new Map();
      addTo(root, steps, attributes[key] as OtlpValue);
    }
  }
  return root && toValue(root);
}

function stepsOf(path: string, itemNames: readonly string[]): string[] {
  return path
    .split('.')
    .filter(
      (step, at, steps) => !(at > 0 && INDEX.test(steps[at - 1] as string) && itemNames.includes(step)),
    );
}

/** Adds a value to a tree. If the path is taken, the earlier value or branch stays. */
function addTo(root: Branch, steps: readonly string[], value: OtlpValue): void {
  let branch = root;
  for (const step of steps.slice(0, -1)) {
    let next = branch.get(step);
    if (next === undefined) {
      next = new Map();
      branch.set(step, next);
    }
    if (!(next instanceof Map)) return;
    branch = next;
  }
  const last = steps.at(-1) as string;
  if (!branch.has(last)) {
    branch.set(last, value);
  }
}

function toValue(branch: Branch): OtlpValue {
  const entries = [...branch].map(([step, value]): [string, OtlpValue] => [
    step,
    value instanceof Map ? toValue(value) : value,
  ]);
  if (entries.every(([step]) => INDEX.test(step))) {
    return entries.sort(([one], [other]) => Number(one) - Number(other)).map(([, value]) => value);
  }
  const object: OtlpAttributes = {};
  for (const [step, value] of entries) {
    setMember(object, step, value);
  }
  return object;
}
