import { pointerToken } from '#platform/json';
import type { ServerInput, ServerJsonReader } from './server-json';

/** A variable in a template. */
const VARIABLE = /\{([a-zA-Z_][a-zA-Z0-9_-]*)\}/g;

type Inputs = ReadonlyMap<string, ServerInput>;

interface PlacedValue {
  value: string;
  /** The JSON pointer of the value in the body. */
  pointer: string;
}

/** Returns the distinct names of the variables in a template. */
export const variablesOf = (template: string): string[] => [
  ...new Set([...template.matchAll(VARIABLE)].map(([, name]) => name!)),
];

export const variablePointer = (name: string): string => `/variables/${pointerToken(name)}`;

/** The values in a body for the variables of templates. */
export class TemplateValues {
  private readonly values = new Map<string, PlacedValue>();
  private readonly used = new Set<string>();

  constructor(
    private readonly reader: ServerJsonReader,
    variables: Record<string, unknown>,
  ) {
    for (const [name, value] of Object.entries(variables)) {
      if (typeof value === 'string') this.set(name, value, variablePointer(name));
      else this.fault(name, 'must be a string');
    }
  }

  set(name: string, value: string, pointer: string): void {
    this.values.set(name, { value, pointer });
  }

  /** Returns the variables of a template without a value, declared or not. */
  missing(template: string, declared: Inputs): string[] {
    return variablesOf(template).filter((name) => this.valueOf(name, declared.get(name)) === undefined);
  }

  /** Reports the missing variables of a template. @param where names the template, such as `the URL of the remote` */
  require(missing: readonly string[], declared: Inputs, where: string): void {
    for (const name of missing) {
      this.fault(name, `is required by ${where}${explained(declared.get(name)?.description)}`);
    }
  }

  /**
   * Replaces the variables that have a value.
   *
   * @param render returns the text for a value of the body
   * @param onFilled receives each text that replaces a variable
   */
  fill(
    template: string,
    declared: Inputs,
    render: (placed: PlacedValue & { name: string }, offset: number) => string,
    onFilled?: (name: string, text: string, offset: number) => void,
  ): string {
    return template.replace(VARIABLE, (whole, name: string, offset: number) => {
      this.used.add(name);
      const input = declared.get(name);
      const value = this.valueOf(name, input);
      const placed = this.values.get(name);
      if (value === undefined) return whole;
      this.checkChoice(value, input, placed?.pointer ?? variablePointer(name));
      const text =
        placed?.value === value && !input?.choices.includes(value)
          ? render({ ...placed, name }, offset)
          : value;
      onFilled?.(name, text, offset);
      return text;
    });
  }

  checkChoice(value: string, input: ServerInput | undefined, pointer: string): void {
    const choices = input?.choices ?? [];
    if (choices.length === 0 || choices.includes(value)) return;
    this.reader.fault(pointer, `must be one of ${choices.slice(0, 100).join(', ')}`);
  }

  /** Reports the values that no template uses. */
  checkUsed(): void {
    for (const name of this.values.keys()) {
      if (!this.used.has(name)) this.fault(name, 'is not a variable of this remote');
    }
  }

  fault(name: string, detail: string): void {
    this.reader.fault(variablePointer(name), detail);
  }

  /** Returns the value of a variable. A fixed value takes precedence over that of the body. */
  private valueOf(name: string, input: ServerInput | undefined): string | undefined {
    return input?.value ?? this.values.get(name)?.value ?? input?.default ?? undefined;
  }
}

/** Returns a description in parentheses, or nothing. */
export const explained = (description: string | null | undefined): string =>
  description == null || description === '' ? '' : ` (${description.slice(0, 200)})`;
