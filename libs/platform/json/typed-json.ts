import { JsonInputError } from './json-input.error';
import { shortPointerOf } from './json-pointer';
import { memberNames, objectOf } from './member-order';
import { numberFault } from './number.rule';
import { RawJson } from './raw-json';

/**
 * Returns a value of `parseJson` for a member that is not free-form: its numbers are doubles. Copies only what changes.
 *
 * @param isKept tells which of the values inside are free-form, by their paths
 * @throws JsonInputError for a NUL character, and for a number that a double cannot represent (nonzero but rounded to zero,
 *   or an integer without exponent that would become another integer). Fractions round to the nearest double.
 */
export function typedJson(
  value: unknown,
  pointer = '',
  isKept: (path: readonly (string | number)[]) => boolean = () => false,
): unknown {
  const path: (string | number)[] = [];
  const rejection = (detail: string): JsonInputError =>
    new JsonInputError(`${pointer}${shortPointerOf(path)}`, detail);
  const child = (step: string | number, inner: unknown): unknown => {
    path.push(step);
    const converted = isKept(path) ? inner : convert(inner);
    path.pop();
    return converted;
  };
  const convert = (one: unknown): unknown => {
    if (typeof one === 'string') {
      if (one.includes('\0')) throw rejection(`The string contains ${NUL}`);
      return one;
    }
    if (typeof one !== 'object' || one === null) return one;
    if (one instanceof RawJson) {
      const fault = numberFault(one.text);
      if (fault !== undefined) throw rejection(fault);
      return Number(one.text);
    }
    if (Array.isArray(one)) {
      const values = one.map((element, index) => child(index, element));
      return values.some((element, index) => element !== one[index]) ? values : one;
    }
    const names = memberNames(one);
    if (names.some((name) => name.includes('\0'))) {
      throw rejection(`A member name of this object contains ${NUL}`);
    }
    const object = one as Record<string, unknown>;
    const values = names.map((name) => child(name, object[name]));
    return names.some((name, index) => object[name] !== values[index]) ? objectOf(names, values) : one;
  };
  return convert(value);
}

const NUL = 'a NUL character (\\u0000), which is allowed only in free-form members. Remove it.';
