import 'reflect-metadata';
import { ApiProperty, type ApiPropertyOptions } from '@nestjs/swagger';
import {
  IsString,
  length,
  registerDecorator,
  ValidateIf,
  ValidateNested,
  type ValidationArguments,
} from 'class-validator';
import { isJsonObject } from '#platform/json';

export type Constructor = new () => object;

/** Where decorators leave what `shapeOf` reads. */
export const NESTED = Symbol('nested');
export const CLOSED = Symbol('closed');
export const VALUES = Symbol('values');
export const DEFERRED = Symbol('deferred');

/** An enumerated member. */
export interface OneOf {
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
