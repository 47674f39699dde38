import { isJsonObject, pointerToken, unknownDetail } from '#platform/json';

/** What is wrong with a value. `pointer` (RFC 6901) is relative to the definition, and empty for the definition itself. */
export interface FormFault {
  pointer: string;
  detail: string;
}

/** Maximum number of faults that are reported for one definition. */
const FAULTS_MAX = 50;

/** A location in a definition. Collects the faults that are found there. */
export class Place {
  constructor(
    private readonly pointer: string,
    private readonly faults: FormFault[],
  ) {}

  at(member: string | number): Place {
    return new Place(`${this.pointer}/${pointerToken(String(member))}`, this.faults);
  }

  /** Reports a fault, and returns false. @param below a JSON pointer relative to this place */
  fault(detail: string, below = ''): false {
    if (!this.isFull) this.faults.push({ pointer: this.pointer + below, detail });
    return false;
  }

  get faultCount(): number {
    return this.faults.length;
  }

  /** Whether the maximum number of faults was reported, so that nothing more needs to be checked. */
  get isFull(): boolean {
    return this.faults.length >= FAULTS_MAX;
  }
}

/** One kind of value, described once: its TypeScript type, its OpenAPI schema and its validation. */
export interface Value<Type> {
  readonly schema: object;
  /** Tells whether a value is of this kind. Reports why if it is not. */
  check(value: unknown, place: Place): value is Type;
}

/** An optional member. */
export interface Optional<Type> extends Value<Type> {
  readonly isOptional: true;
}

/** The TypeScript type of a value. */
export type TypeOf<V> = V extends Value<infer Type> ? Type : never;

type Members = Record<string, Value<unknown> | Optional<unknown>>;
type OptionalNames<M> = { [Name in keyof M]: M[Name] extends Optional<unknown> ? Name : never }[keyof M];
type ObjectOf<M> = { [Name in Exclude<keyof M, OptionalNames<M>>]: TypeOf<M[Name]> } & {
  [Name in OptionalNames<M>]?: TypeOf<M[Name]>;
};

const refOf = (name: string): string => `#/components/schemas/${name}`;

/** An object with a fixed set of members, which is a named component in OpenAPI. */
export interface Form<Type> extends Value<Type> {
  readonly name: string;
  /** Its schema in the components of the OpenAPI document; `schema` refers to it. */
  readonly component: object;
}

/** Defines a value by its schema and a function that returns its fault. */
export const value = <Type>(
  description: string,
  schema: object,
  faultOf: (input: unknown) => string | undefined,
): Value<Type> => ({
  schema: { ...schema, ...(description && { description }) },
  check(input, place): input is Type {
    const detail = faultOf(input);
    return detail === undefined || place.fault(detail);
  },
});

/** Makes a member optional. @param byDefault its default, for OpenAPI */
export const optional = <Type>(of: Value<Type>, byDefault?: Type): Optional<Type> => ({
  check: of.check.bind(of) as Value<Type>['check'],
  schema: { ...of.schema, ...(byDefault !== undefined && { default: byDefault }) },
  isOptional: true,
});

/** Makes a member optional and nullable. Absent and null mean the same. */
export const nullable = <Type>(of: Value<Type>, byDefault?: Type): Optional<Type | null> => {
  const { schema } = optional(of, byDefault) as { schema: { type?: string; enum?: unknown[] } };
  const { type, enum: values } = schema;
  return {
    schema: { ...schema, type: [type, 'null'], ...(values && { enum: [...values, null] }) },
    check: (input, place): input is Type | null => input === null || of.check(input, place),
    isOptional: true,
  };
};

const range = (min: number, max: number): string =>
  max !== Infinity ? ` from ${min} to ${max}` : min === -Infinity ? '' : ` of ${min} or more`;

const isWithin = (input: unknown, min: number, max: number): input is number =>
  typeof input === 'number' && Number.isFinite(input) && input >= min && input <= max;

const bounds = (min: number, max: number): object => ({
  ...(min !== -Infinity && { minimum: min }),
  ...(max !== Infinity && { maximum: max }),
});

/** A string of `min` to `max` UTF-16 code units. */
export const text = (
  description: string,
  { min = 1, max }: { min?: number; max: number },
  faultOf: (input: string) => string | undefined = () => undefined,
): Value<string> =>
  value(description, { type: 'string', ...(min > 0 && { minLength: min }), maxLength: max }, (input) =>
    typeof input === 'string' && input.length >= min && input.length <= max
      ? faultOf(input)
      : `must be a string of ${min} to ${max} characters`,
  );

/** A finite number. */
export const number = (description: string, min = -Infinity, max = Infinity): Value<number> =>
  value(description, { type: 'number', ...bounds(min, max) }, (input) =>
    isWithin(input, min, max) ? undefined : `must be a number${range(min, max)}`,
  );

export const integer = (description: string, min: number, max: number): Value<number> =>
  value(description, { type: 'integer', ...bounds(min, max) }, (input) =>
    isWithin(input, min, max) && Number.isSafeInteger(input)
      ? undefined
      : `must be an integer${range(min, max)}`,
  );

export const flag = (description: string): Value<boolean> =>
  value(description, { type: 'boolean' }, (input) =>
    typeof input === 'boolean' ? undefined : 'must be true or false',
  );

export const oneOf = <const Option extends string>(
  description: string,
  options: readonly Option[],
): Value<Option> =>
  value(description, { type: 'string', enum: [...options] }, (input) =>
    options.includes(input as Option)
      ? undefined
      : `must be ${options.length > 1 ? 'one of ' : ''}${options.join(', ')}`,
  );

export const jsonObject = (description: string): Value<Record<string, unknown>> =>
  value(description, { type: 'object', additionalProperties: true }, (input) =>
    isJsonObject(input) ? undefined : 'must be an object',
  );

export interface ListOptions {
  /** What the items are called. */
  noun: string;
  min: number;
  max?: number;
  /** The member by which items differ. */
  key?: string;
  /** Longest JSON text of the list, in UTF-16 code units. */
  maxText?: number;
}

/** A list of at least `min` and at most `max` items. The items of a list that is too long are not checked. */
export const list = <Item>(description: string, item: Value<Item>, options: ListOptions): Value<Item[]> => {
  const { noun, min, max, key, maxText = Infinity } = options;
  const size = max === undefined ? `${min} or more` : `${min} to ${max}`;
  const bounded = { minItems: min, ...(max !== undefined && { maxItems: max }) };
  return {
    schema: { type: 'array', items: item.schema, ...bounded, ...(description && { description }) },
    check(input, place): input is Item[] {
      if (!Array.isArray(input) || input.length < min || input.length > (max ?? Infinity)) {
        return place.fault(`must be a list of ${size} ${noun}`);
      }
      if (maxText < Infinity && JSON.stringify(input).length > maxText) {
        return place.fault(`must have at most ${maxText} characters as JSON`);
      }
      const keys = new Set<unknown>();
      let isValid = true;
      for (const [index, one] of input.entries()) {
        if (place.isFull) return false;
        isValid = item.check(one, place.at(index)) && isValid;
        const own = key !== undefined && isJsonObject(one) ? one[key] : undefined;
        if (own === undefined) continue;
        if (keys.has(own)) isValid = place.at(index).at(key!).fault('occurs more than once');
        keys.add(own);
      }
      return isValid;
    },
  };
};

/**
 * Defines an object with these members. Any other member is a fault, so that misspelt names are noticed.
 *
 * @param rule reports members that contradict each other; called if each member is valid by itself
 */
export function form<M extends Members>(
  name: string,
  description: string,
  members: M,
  rule: (input: ObjectOf<M>, place: Place) => void = () => undefined,
): Form<ObjectOf<M>> {
  const names = Object.keys(members);
  const isRequired = (member: string): boolean => !('isOptional' in members[member]!);
  return {
    name,
    schema: { $ref: refOf(name) },
    component: {
      type: 'object',
      description,
      properties: Object.fromEntries(names.map((member) => [member, members[member]!.schema])),
      required: names.filter(isRequired),
      additionalProperties: false,
    },
    check(input, place): input is ObjectOf<M> {
      if (!isJsonObject(input)) return place.fault('must be an object');
      let isValid = true;
      for (const member of names) {
        const own = Object.hasOwn(input, member) ? input[member] : undefined;
        if (own !== undefined) isValid = members[member]!.check(own, place.at(member)) && isValid;
        else if (isRequired(member)) isValid = place.at(member).fault('is required');
      }
      for (const member of Object.keys(input)) {
        if (place.isFull) return false;
        if (Object.hasOwn(members, member)) continue;
        isValid = place.at(member).fault(unknownDetail(member, names));
      }
      if (!isValid) return false;
      const before = place.faultCount;
      rule(input as ObjectOf<M>, place);
      return place.faultCount === before;
    },
  };
}

/** One of several forms, which the member `type` distinguishes. */
export const byType = <Forms extends Record<string, Form<unknown>>>(
  forms: Forms,
): Value<TypeOf<Forms[keyof Forms]>> => ({
  schema: {
    oneOf: Object.values(forms).map(({ schema }) => schema),
    discriminator: {
      propertyName: 'type',
      mapping: Object.fromEntries(Object.entries(forms).map(([type, { name }]) => [type, refOf(name)])),
    },
  },
  check(input, place): input is TypeOf<Forms[keyof Forms]> {
    if (!isJsonObject(input)) return place.fault('must be an object with a type');
    const { type } = input;
    if (type === undefined) return place.at('type').fault('is required');
    if (typeof type !== 'string' || !Object.hasOwn(forms, type)) {
      return place.at('type').fault(`must be one of ${Object.keys(forms).join(', ')}`);
    }
    return forms[type]!.check(input, place);
  },
});
