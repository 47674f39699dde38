import { isJsonObject } from '#platform/json';
import type { FieldError } from '#platform/problem';

/** A JSON object of a definition whose members are read one by one; what is wrong with them is collected. */
export class DefinitionReader {
  private constructor(
    private readonly source: Record<string, unknown>,
    private readonly pointer: string,
    private readonly faults: FieldError[],
  ) {}

  /** Reads a value with `read`, and answers the faults found, each with its JSON pointer (RFC 6901). */
  static faultsOf(value: unknown, pointer: string, read: (reader: DefinitionReader) => void): FieldError[] {
    const faults: FieldError[] = [];
    if (isJsonObject(value)) read(new DefinitionReader(value, pointer, faults));
    else faults.push({ pointer, detail: 'must be an object' });
    return faults;
  }

  has(member: string): boolean {
    return Object.hasOwn(this.source, member) && this.source[member] !== undefined;
  }

  fault(member: string, detail: string): void {
    this.faults.push({ pointer: member === '' ? this.pointer : `${this.pointer}/${member}`, detail });
  }

  /** A text of `min` to `max` characters. */
  text(member: string, max: number, { optional = false, min = 1 } = {}): string | undefined {
    const value = this.value(member, optional);
    if (typeof value === 'string' && value.length >= min && value.length <= max) return value;
    if (value !== undefined) this.fault(member, `must be a string of ${min} to ${max} characters`);
    return undefined;
  }

  number(member: string, { optional = false, min = -Infinity, max = Infinity } = {}): number | undefined {
    const value = this.value(member, optional);
    const fits = typeof value === 'number' && Number.isFinite(value) && value >= min && value <= max;
    if (fits) return value;
    if (value !== undefined) this.fault(member, `must be a number${boundsText(min, max)}`);
    return undefined;
  }

  /** An integer within bounds; it may always be left out. */
  integer(member: string, min: number, max: number): void {
    const value = this.value(member, true);
    if (value === undefined) return;
    if (!Number.isInteger(value) || (value as number) < min || (value as number) > max) {
      this.fault(member, `must be an integer from ${min} to ${max}`);
    }
  }

  /** A boolean; it may always be left out. */
  boolean(member: string): void {
    const value = this.value(member, true);
    if (value !== undefined && typeof value !== 'boolean') this.fault(member, 'must be true or false');
  }

  oneOf<Value extends string>(
    member: string,
    values: readonly Value[],
    { optional = false } = {},
  ): Value | undefined {
    const value = this.value(member, optional);
    if (values.includes(value as Value)) return value as Value;
    if (value !== undefined) this.fault(member, `must be one of ${values.join(', ')}`);
    return undefined;
  }

  object(member: string, read: (reader: DefinitionReader) => void): void {
    const value = this.value(member, false);
    if (value === undefined) return;
    this.faults.push(...DefinitionReader.faultsOf(value, `${this.pointer}/${member}`, read));
  }

  /** A list of `min` to `max` objects, whose `key` members are distinct. */
  list(
    member: string,
    { min, max, key }: { min: number; max: number; key: string },
    read: (item: DefinitionReader) => void,
  ): void {
    const value = this.value(member, false);
    if (value === undefined) return;
    if (!Array.isArray(value) || value.length < min || value.length > max) {
      this.fault(member, `must be a list of ${min} to ${max} items`);
      return;
    }
    const keys = new Set<unknown>();
    value.forEach((item: unknown, index) => {
      const place = `${this.pointer}/${member}/${index}`;
      this.faults.push(...DefinitionReader.faultsOf(item, place, read));
      const own = isJsonObject(item) ? item[key] : undefined;
      if (own !== undefined && keys.has(own)) {
        this.faults.push({ pointer: `${place}/${key}`, detail: 'occurs more than once' });
      }
      keys.add(own);
    });
  }

  /** A member's value; null counts as left out. A required one that is not there is a fault. */
  private value(member: string, optional: boolean): unknown {
    const value = Object.hasOwn(this.source, member) ? (this.source[member] ?? undefined) : undefined;
    if (value === undefined && !optional) this.fault(member, 'is required');
    return value;
  }
}

const boundsText = (min: number, max: number): string =>
  min === -Infinity && max === Infinity ? '' : ` from ${min} to ${max}`;
