import type { DefinitionProblem } from './code.definition';

type JsonObject = Record<string, unknown>;

/** Reads the members of one object of a definition and collects what is wrong with them. Unknown members are let be. */
export class MemberReader {
  constructor(
    private readonly object: JsonObject,
    private readonly pointer: string,
    private readonly problems: DefinitionProblem[],
  ) {}

  has(name: string): boolean {
    return this.object[name] !== undefined;
  }

  raw(name: string): unknown {
    return this.object[name];
  }

  problem(name: string, detail: string): void {
    this.problems.push({ pointer: name === '' ? this.pointer : `${this.pointer}/${name}`, detail });
  }

  required(name: string): boolean {
    if (this.has(name)) return true;
    this.problem(name, 'is required');
    return false;
  }

  text(name: string, maxLength: number): string | undefined {
    const value = this.object[name];
    if (value === undefined) return undefined;
    if (typeof value === 'string' && value.length > 0 && value.length <= maxLength) return value;
    this.problem(name, `must be a string of 1 to ${maxLength} characters`);
    return undefined;
  }

  flag(name: string): boolean | undefined {
    const value = this.object[name];
    if (value === undefined || typeof value === 'boolean') return value;
    this.problem(name, 'must be true or false');
    return undefined;
  }

  number(name: string, min = -Infinity, max = Infinity): number | undefined {
    const value = this.object[name];
    if (value === undefined) return undefined;
    if (typeof value === 'number' && Number.isFinite(value) && value >= min && value <= max) return value;
    this.problem(name, `must be a number${range(min, max)}`);
    return undefined;
  }

  integer(name: string, min: number, max: number): number | undefined {
    const value = this.object[name];
    if (value === undefined) return undefined;
    if (Number.isSafeInteger(value) && Number(value) >= min && Number(value) <= max) return Number(value);
    this.problem(name, `must be an integer${range(min, max)}`);
    return undefined;
  }

  oneOf<T extends string>(name: string, values: readonly T[]): T | undefined {
    const value = this.object[name];
    if (value === undefined) return undefined;
    const known = values.find((candidate) => candidate === value);
    if (known === undefined) this.problem(name, `must be one of ${values.join(', ')}`);
    return known;
  }

  /** A list of 1 to `max` strings of at most `maxLength` characters. */
  texts(name: string, max: number, maxLength: number): string[] | undefined {
    const value = this.object[name];
    if (value === undefined) return undefined;
    const isText = (item: unknown): item is string =>
      typeof item === 'string' && item.length > 0 && item.length <= maxLength;
    if (Array.isArray(value) && value.length > 0 && value.length <= max && value.every(isText)) return value;
    this.problem(name, `must be a list of 1 to ${max} strings of 1 to ${maxLength} characters`);
    return undefined;
  }
}

function range(min: number, max: number): string {
  if (max === Infinity) return min === -Infinity ? '' : ` of ${min} or more`;
  return ` from ${min} to ${max}`;
}
