import 'reflect-metadata';
import { ApiProperty, type ApiPropertyOptions } from '@nestjs/swagger';
import {
  getMetadataStorage,
  IsString,
  length,
  registerDecorator,
  ValidateIf,
  ValidateNested,
  type ValidationArguments,
  type ValidationError,
} from 'class-validator';
import { isJsonObject } from '#platform/json';
import { type FieldError, problem } from '#platform/problem';

type Constructor = new () => object;

const NESTED = Symbol('nested');
const CLOSED = Symbol('closed');
const VALUES = Symbol('values');
const DEFERRED = Symbol('deferred');

interface OneOf {
  member: string;
  values: readonly string[];
  each: boolean;
}

/** A member that is another DTO or, with `@IsArray()`, a list of them. */
export const Nested =
  (type: () => Constructor): PropertyDecorator =>
  (target, property) => {
    const nested =
      (Reflect.getMetadata(NESTED, target) as Record<string, () => Constructor> | undefined) ?? {};
    Reflect.defineMetadata(NESTED, { ...nested, [property]: type }, target);
    ValidateNested()(target, property);
  };

/**
 * An unknown member of this body is refused (400) rather than ignored: for bodies that select, where ignoring a
 * misspelt member would widen what is meant.
 */
export const ClosedBody = (): ClassDecorator => (target) => Reflect.defineMetadata(CLOSED, true, target);

/**
 * The values of this body's enumerated members are checked by its service, with `checkValues`, after the object's
 * existence and state: for bodies sent to a path that names an object.
 */
export const ValuesCheckedLater = (): ClassDecorator => (target) =>
  Reflect.defineMetadata(DEFERRED, true, target);

/** A member with known values. Another type is 400, another value 422. */
export const IsOneOf =
  (values: readonly string[], options: ApiPropertyOptions & { each?: boolean } = {}): PropertyDecorator =>
  (target, property) => {
    const { each = false, ...api } = options;
    const member = String(property);
    const known = (Reflect.getMetadata(VALUES, target) as OneOf[] | undefined) ?? [];
    const others = known.filter((one) => one.member !== member); // a subclass may know other values
    Reflect.defineMetadata(VALUES, [...others, { member, values, each }], target);
    IsString({ each })(target, property);
    ApiProperty({ ...api, enum: [...values], isArray: each } as ApiPropertyOptions)(target, property);
  };

/** A member of an answer that is any JSON value. */
export const AnyJson = (options: ApiPropertyOptions = {}): PropertyDecorator =>
  ApiProperty({ ...options, ...ANY_JSON } as ApiPropertyOptions);

/** A member of an answer that is any JSON object. */
export const AnyJsonObject = (options: ApiPropertyOptions = {}): PropertyDecorator =>
  ApiProperty({ ...options, type: 'object', additionalProperties: true } as ApiPropertyOptions);

/** Any JSON value, also null, taken as it came. */
export const IsJson =
  (options: ApiPropertyOptions = {}): PropertyDecorator =>
  (target, property) => {
    ApiProperty({ ...options, ...ANY_JSON } as ApiPropertyOptions)(target, property);
    registerDecorator({
      name: 'isJson',
      target: target.constructor,
      propertyName: String(property),
      validator: {
        validate: (value: unknown) => value !== undefined,
        defaultMessage: () => 'must be present; any JSON value will do',
      },
    });
  };

/** A JSON object (not an array), taken as it came. @param maxBytes of its JSON text in UTF-8. */
export const IsJsonObject =
  (options: ApiPropertyOptions & { maxBytes?: number } = {}): PropertyDecorator =>
  (target, property) => {
    const { maxBytes, ...api } = options;
    ApiProperty({ ...api, type: 'object', additionalProperties: true } as ApiPropertyOptions)(
      target,
      property,
    );
    registerDecorator({
      name: 'isJsonObject',
      target: target.constructor,
      propertyName: String(property),
      validator: {
        validate: (value: unknown) =>
          isJsonObject(value) && (!maxBytes || Buffer.byteLength(JSON.stringify(value)) <= maxBytes),
        defaultMessage: () =>
          maxBytes ? `must be an object of at most ${maxBytes / 1024} KiB as JSON` : 'must be an object',
      },
    });
  };

/** A member that may be absent but, unlike one with `@IsOptional()`, not null. */
export const NotNull = (): PropertyDecorator => ValidateIf((_, value) => value !== undefined);

const TAGS_MAX = 100;
const TAG_LENGTH_MAX = 255;

function faultOfTags(tags: unknown): string | null {
  if (!Array.isArray(tags)) return 'must be an array';
  // before anything that looks at each of them: a body has room for a million
  if (tags.length > TAGS_MAX) return `may have at most ${TAGS_MAX} elements`;
  if (!tags.every((tag) => length(tag, 1, TAG_LENGTH_MAX))) {
    return `must have elements that are texts of 1 to ${TAG_LENGTH_MAX} characters`;
  }
  return new Set(tags).size === tags.length ? null : 'may not have an element twice';
}

/** Labels to find a resource by: at most 100 distinct ones of 1 to 255 characters. */
export const IsTags = (): PropertyDecorator => (target, property) => {
  ApiProperty({
    type: 'array',
    items: { type: 'string', minLength: 1, maxLength: TAG_LENGTH_MAX },
    maxItems: TAGS_MAX,
    uniqueItems: true,
    required: false,
  } as ApiPropertyOptions)(target, property);
  registerDecorator({
    name: 'isTags',
    target: target.constructor,
    propertyName: String(property),
    validator: {
      validate: (value: unknown) => faultOfTags(value) === null,
      defaultMessage: ({ value }: ValidationArguments) => faultOfTags(value) ?? '',
    },
  });
};

/** OpenAPI of a member that takes any JSON value. */
export const ANY_JSON: ApiPropertyOptions = {
  oneOf: [
    { type: 'object', additionalProperties: true },
    { type: 'array', items: {} },
    { type: 'string' },
    { type: 'number' },
    { type: 'boolean' },
    { type: 'null' },
  ],
} as ApiPropertyOptions;

export interface Shape {
  members: ReadonlySet<string>;
  nested: Record<string, () => Constructor>;
  /** Members that are arrays. */
  lists: ReadonlySet<string>;
  closed: boolean;
  deferred: boolean;
  values: OneOf[];
}

const shapes = new Map<Constructor, Shape>();

/** What the decorators of a DTO declare. */
export function shapeOf(type: Constructor): Shape {
  let shape = shapes.get(type);
  if (!shape) {
    const metadata = getMetadataStorage().getTargetValidationMetadatas(type, '', false, false);
    shape = {
      members: new Set(metadata.map((one) => one.propertyName)),
      nested: (Reflect.getMetadata(NESTED, type.prototype as object) as Shape['nested'] | undefined) ?? {},
      lists: new Set(metadata.flatMap((one) => (one.name === 'isArray' ? [one.propertyName] : []))),
      closed: Reflect.getMetadata(CLOSED, type) === true,
      deferred: Reflect.getMetadata(DEFERRED, type) === true,
      values: (Reflect.getMetadata(VALUES, type.prototype as object) as OneOf[] | undefined) ?? [],
    };
    shapes.set(type, shape);
  }
  return shape;
}

/**
 * Makes a DTO of a parsed body: its declared members, each as it came, and DTOs of nested ones. Unlike
 * class-transformer it copies nothing deeply, so a free-form value keeps its identity, members and order.
 */
export function instantiate(
  type: Constructor,
  source: Record<string, unknown>,
  pointer: string,
  errors: FieldError[],
): object {
  const { members, nested, lists, closed } = shapeOf(type);
  const dto = new type() as Record<string, unknown>;
  for (const member of members) {
    if (!Object.hasOwn(source, member)) continue;
    const value = source[member];
    const nestedType = nested[member]?.();
    if (nestedType && Array.isArray(value) && !lists.has(member)) {
      errors.push({ pointer: `${pointer}/${member}`, detail: 'must be an object, not a list' });
      continue;
    }
    dto[member] = nestedType ? instantiateNested(nestedType, value, `${pointer}/${member}`, errors) : value;
  }
  if (closed) {
    for (const member of Object.keys(source)) {
      if (!members.has(member))
        errors.push({
          pointer: `${pointer}/${pointerToken(member)}`,
          detail: 'is not a member this body has',
        });
    }
  }
  return dto;
}

/**
 * A body has room for a million nested objects, and validating them would hold up all other requests for seconds,
 * before the member's own limit is looked at.
 */
const NESTED_MAX = 1_000;

function instantiateNested(
  type: Constructor,
  value: unknown,
  pointer: string,
  errors: FieldError[],
): unknown {
  if (!Array.isArray(value)) return isJsonObject(value) ? instantiate(type, value, pointer, errors) : value;
  if (value.length > NESTED_MAX) {
    errors.push({ pointer, detail: `may have at most ${NESTED_MAX} elements` });
    return undefined;
  }
  return value.map((one: unknown, index) => {
    if (isJsonObject(one)) return instantiate(type, one, `${pointer}/${index}`, errors);
    // class-validator looks into lists of lists, and passes over null
    errors.push({ pointer: `${pointer}/${index}`, detail: 'must be an object' });
    return undefined;
  });
}

/** A member's name as a part of a JSON pointer (RFC 6901), of which the answer repeats no more than 100 characters. */
export const pointerToken = (member: string): string =>
  member.slice(0, 100).replace(/~/g, '~0').replace(/\//g, '~1');

/** Constraints on what a value is; where one is broken, what the others say of the value is noise. */
const OF_TYPE = ['isString', 'isInt', 'isNumber', 'isBoolean', 'isArray', 'isObject', 'isNotNull'];

/** The faults that class-validator found, each with its JSON pointer. */
export function fieldErrors(faults: ValidationError[], pointer = ''): FieldError[] {
  return faults.flatMap((fault) => {
    const place = `${pointer}/${pointerToken(fault.property)}`;
    return [...ownErrors(fault, place), ...fieldErrors(fault.children ?? [], place)];
  });
}

function ownErrors({ constraints = {}, property, value }: ValidationError, pointer: string): FieldError[] {
  const broken = Object.keys(constraints);
  if (broken.length > 0 && value === undefined) return [{ pointer, detail: 'is required' }];
  const first = OF_TYPE.find((name) => broken.includes(name));
  return (first === undefined ? broken : [first]).map((name) => ({
    pointer,
    detail: constraints[name]!.replace(new RegExp(`^(each value in )?${property} `), '$1').replace(
      ' conforming to the specified constraints',
      '',
    ),
  }));
}

/** Throws 422 `validation_failed` when an enumerated member of a DTO, or of one nested in it, has an unknown value. */
export function checkValues(dto: object): void {
  const errors = valueErrors(dto, '');
  if (errors.length > 0) throw problem.validationFailed(errors);
}

export function valueErrors(dto: object, pointer: string): FieldError[] {
  const { values, nested } = shapeOf(dto.constructor as Constructor);
  const source = dto as Record<string, unknown>;
  const own = values.flatMap(({ member, values: known, each }) => {
    const given = source[member];
    const isUnknown = (value: unknown): boolean =>
      value !== undefined && value !== null && !known.includes(value as string);
    const detail = `must be one of ${known.join(', ')}`;
    const place = `${pointer}/${member}`;
    if (!each || !Array.isArray(given)) return isUnknown(given) ? [{ pointer: place, detail }] : [];
    return given.flatMap((value: unknown, i) =>
      isUnknown(value) ? [{ pointer: `${place}/${i}`, detail }] : [],
    );
  });
  const below = Object.keys(nested).flatMap((member) => {
    const value = source[member];
    if (Array.isArray(value))
      return value.flatMap((one: unknown, i) =>
        isJsonObject(one) ? valueErrors(one, `${pointer}/${member}/${i}`) : [],
      );
    return isJsonObject(value) ? valueErrors(value, `${pointer}/${member}`) : [];
  });
  return [...own, ...below];
}
